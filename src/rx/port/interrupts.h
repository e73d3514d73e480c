/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Stops EAL's interrupt thread for good, so that it no longer looks at what drivers free while they
 * close: no interrupt, alarm or control message is served after the return. Once is enough; waits a
 * second at most. Not to be called from that thread.
 */
void interrupts_stop(void);
