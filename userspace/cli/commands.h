/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands, each described and implemented in the cmd_*.c of its family. */
#ifndef RINGLB_CLI_COMMANDS_H
#define RINGLB_CLI_COMMANDS_H

#include "cli/cli.h"

extern const struct cli_command cmd_status;
extern const struct cli_command cmd_vip_list, cmd_vip_add, cmd_vip_remove;
extern const struct cli_command cmd_pool_list;
extern const struct cli_command cmd_backend_list, cmd_backend_add, cmd_backend_remove,
	cmd_backend_weight, cmd_backend_drain, cmd_backend_undrain;
extern const struct cli_command cmd_lookup, cmd_why;
extern const struct cli_command cmd_owner, cmd_prefer, cmd_shares, cmd_plan, cmd_simulate;
extern const struct cli_command cmd_stats, cmd_top, cmd_trace, cmd_capture;
extern const struct cli_command cmd_reload, cmd_save, cmd_down;
extern const struct cli_command cmd_check;

#endif
