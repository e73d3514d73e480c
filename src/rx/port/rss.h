/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * RSS within the capabilities of a device. Results are correct for any distribution of packets,
 * because the sketches of all workers are merged.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/config.h"
#include "rx/port/drivers.h"
#include "rx/port/messages.h"
#include "rx/packet/rss_hash.h"

enum rss_key {
	RSS_KEY_SYMMETRIC, /* same hash for both directions of a connection */
	RSS_KEY_DEFAULT,
	RSS_KEY_GIVEN,
};

struct rss_options {
	enum rss_fields fields;
	enum rss_key key;
	uint8_t key_len;
	uint8_t key_bytes[RSS_KEY_LEN_MAX];
};

OPTION_OWNER(rss)

#define PORT_RSS_RETA_MAX 4096 /* entries; cards have up to 2048 */

enum port_hash_use {
	PORT_HASH_UNUSED,
	PORT_HASH_QUEUES,   /* the device selects a queue */
	PORT_HASH_DISPATCH, /* one queue; the receiving core selects a worker */
};

struct port_rss {
	const char *port;
	const struct port_driver *driver;
	enum port_hash_use use;
	enum rss_fields wanted;
	enum rss_key key_wanted;
	uint16_t nb_queues;

	/* Members from here on are set by port_rss_choose(). */
	bool on;
	uint64_t fields; /* RTE_ETH_RSS_*; 0 if off */
	uint8_t key_len; /* bytes of the key; 0: the device keeps its own */
	uint8_t key[RSS_KEY_LEN_MAX];
	uint64_t offloads;
};

/* Returns at least 1. */
uint16_t port_rss_queues(const struct port_driver *driver, const struct config *config,
	const struct rte_eth_dev_info *info);

/*
 * The members before `on` must be set. Returns false with one line in error[PORT_MESSAGE_MAX] if
 * the key has a wrong length, or nothing distributes packets over the queues.
 */
bool port_rss_choose(struct port_rss *rss, const struct config *config,
	const struct rte_eth_dev_info *info, struct port_messages *messages, char *error);

void port_rss_put(struct port_rss *rss, struct rte_eth_conf *conf);

/*
 * Makes the indirection table even, and reports differences from the wanted settings. Call it after
 * the start of the device.
 */
void port_rss_check(const struct port_rss *rss, uint16_t port_id,
	const struct rte_eth_dev_info *info, struct port_messages *messages);

void port_rss_explain(const struct port_rss *rss, uint64_t fields, struct port_messages *messages);

void port_rss_fill_reta(struct rte_eth_rss_reta_entry64 *reta, uint32_t size, uint16_t nb_queues);
/* Returns true if the numbers of entries of any two queues differ by at most one. */
bool port_rss_is_even(
	const struct rte_eth_rss_reta_entry64 *reta, uint32_t size, uint16_t nb_queues);
