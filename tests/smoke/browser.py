# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that a test controls through its debugging protocol over two pipes."""

import base64
import json
import os
import select

import peers

# Chromium resolves no name and connects to no host except those that the page requests.
OPTIONS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage',
           '--disable-background-networking', '--disable-component-update', '--disable-sync', '--remote-debugging-pipe')


class Browser:
    """One tab. `complaints`: console messages except plain logs. `asked`: requested URLs."""

    def __init__(self, test, width=1280, height=1000, dark=False):
        program = peers.needs(test, 'chromium')
        self.test, self.number, self.rest = test, 0, b''
        self.complaints, self.asked = [], []
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        # File descriptors 3 and 4 carry the protocol.
        self.process = test.start('exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null', program, *OPTIONS,
                                  f'--user-data-dir={test.path("browser")}', 'about:blank', program=['sh', '-c'],
                                  stdin=theirs_in, stdout=theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        self.session = None
        page, = [target for target in self.call('Target.getTargets')['targetInfos'] if target['type'] == 'page']
        self.session = self.call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')
        self.show(width, height, dark)

    def show(self, width, height, dark=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call('Emulation.setScrollbarsHidden', hidden=True)
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while True:
            told = self.receive()
            if told.get('id') == self.number:
                assert 'error' not in told, (method, told)
                return told['result']
            self.note(told)

    def receive(self):
        while b'\0' not in self.rest:
            assert self.process.running() and self.test.patience.spend(), self.process.stderr()[-1000:]
            if select.select([self.back], [], [], 0.2)[0]:
                self.rest += os.read(self.back, 1 << 20)
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def note(self, told):
        what, how = told.get('method'), told.get('params', {})
        if what == 'Runtime.exceptionThrown':
            self.complaints.append(how['exceptionDetails'].get('exception', how)['description'])
        elif what == 'Runtime.consoleAPICalled' and how['type'] in ('error', 'warning', 'assert'):
            self.complaints.append(str(how['args']))
        elif what == 'Log.entryAdded' and how['entry']['level'] in ('error', 'warning'):
            self.complaints.append(how['entry']['text'])
        elif what == 'Network.requestWillBeSent':
            self.asked.append(how['request']['url'])

    def open(self, url):
        self.call('Page.navigate', url=url)

    def look(self, expression):
        """Returns the value of a JavaScript expression in the page."""
        told = self.call('Runtime.evaluate', expression=expression, returnByValue=True)
        assert 'exceptionDetails' not in told, told
        return told['result'].get('value')

    def until(self, expression, what):
        self.test.until(lambda: self.look(expression), what)

    def press(self, key):
        """Presses a named key, such as Tab or ArrowLeft, or types a character."""
        codes = {'Tab': 9, 'Enter': 13, 'Escape': 27, ' ': 32, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39}
        how = {'key': key, 'windowsVirtualKeyCode': codes.get(key, 0), 'text': key if len(key) == 1 else ''}
        self.call('Input.dispatchKeyEvent', type='keyDown', **how)
        self.call('Input.dispatchKeyEvent', type='keyUp', **how)

    def picture(self, path):
        """Saves the window contents as .png or .webp."""
        taken = self.call('Page.captureScreenshot', format=path.rpartition('.')[2], quality=85)
        with open(path, 'wb') as stream:
            stream.write(base64.b64decode(taken['data']))

    def close(self):
        self.session = None
        self.call('Browser.close')
        self.process.wait(self.test.patience)
        os.close(self.to)
        os.close(self.back)
