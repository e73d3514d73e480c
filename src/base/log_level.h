/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
};
