/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Messages of this level and of more urgent levels are logged. */
enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
};
