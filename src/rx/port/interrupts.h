/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Stops the interrupt thread of EAL for good, so that it does not read memory that drivers free
 * when they close. After the return, no interrupt, alarm or control message is processed. Call once
 * is enough. Waits up to a second. Must not be called on that thread.
 */
void interrupts_stop(void);
