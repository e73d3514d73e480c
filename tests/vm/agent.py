# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the guest: reads requests from a serial port, one line of JSON each, and replies with one
line.

{"run": SHELL COMMAND, "seconds": N} returns {"status": N, "said": TEXT}. {"read": PATH} returns the
text of a file as "said", or "" if it is missing. "id" is returned unchanged.
"""

import json
import os
import signal
import subprocess
import tempfile
import time

PORT = '/dev/virtio-ports/lab'
SAID_MAX = 1 << 22


def run(command, seconds):
    # Not a pipe: processes left by the command may keep it open.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(['bash', '-c', command], stdin=subprocess.DEVNULL, stdout=said,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = 124
        said.seek(0)
        return {'status': status, 'said': said.read().decode('utf-8', 'replace')[-SAID_MAX:]}


def read(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as stream:
            return {'said': stream.read()}
    except OSError:
        return {'said': ''}


def main():
    with open(PORT, 'r+b', buffering=0) as port:
        def answer(what):
            data = json.dumps(what).encode() + b'\n'
            while data:
                data = data[port.write(data):]

        answer({'id': 'ready'})
        waiting = b''
        while True:
            came = os.read(port.fileno(), 65536)
            if not came:  # the host has not opened the port
                time.sleep(0.1)
            waiting += came
            while b'\n' in waiting:
                line, waiting = waiting.split(b'\n', 1)
                request = json.loads(line)
                done = read(request['read']) if 'read' in request else run(request['run'], request['seconds'])
                answer({'id': request['id'], **done})


main()
