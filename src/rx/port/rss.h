/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * RSS as far as a device has it: which fields it hashes, under which key, and how its indirection
 * table spreads the hashes over the queues. Choosing is pure, from what the device says of itself;
 * applying reads back what the device made of it.
 *
 * Wherever a packet lands it is counted, and the workers' sketches are merged: what RSS decides is
 * the load of each worker, and which worker sees what of a connection.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/config.h"
#include "rx/port/drivers.h"
#include "rx/port/messages.h"
#include "rx/packet/rss_hash.h"

enum rss_key {
	RSS_KEY_SYMMETRIC, /* both directions of a connection hash alike */
	RSS_KEY_DEFAULT,   /* the driver's */
	RSS_KEY_GIVEN,     /* key_bytes */
};

struct rss_options {
	enum rss_fields fields;
	enum rss_key key;
	uint8_t key_len; /* with RSS_KEY_GIVEN */
	uint8_t key_bytes[RSS_KEY_LEN_MAX];
};

OPTION_OWNER(rss)

#define PORT_RSS_RETA_MAX 4096 /* entries; cards have up to 2048 today */

/* What the hash is for. */
enum port_hash_use {
	PORT_HASH_UNUSED,
	PORT_HASH_QUEUES,   /* the device chooses a queue by it */
	PORT_HASH_DISPATCH, /* there is one queue; the receiver chooses a worker by it */
};

struct port_rss {
	const char *port; /* its name, for what is said */
	const struct port_driver *driver;
	enum port_hash_use use;
	enum rss_fields wanted;
	enum rss_key key_wanted;
	uint16_t nb_queues;

	/* The choice. */
	bool on;
	uint64_t fields; /* RTE_ETH_RSS_*; 0 where it is not on */
	uint8_t key_len; /* 0: the device keeps its own */
	uint8_t key[RSS_KEY_LEN_MAX];
	uint64_t offloads; /* of the receive side */
};

/* Receive queues that a device spreads packets over, by itself or by somebody else; one at
 * least. */
uint16_t port_rss_queues(const struct port_driver *driver, const struct config *config,
	const struct rte_eth_dev_info *info);

/*
 * Chooses for a device. `rss` comes with its first part filled. Returns true, or false and one line
 * in error[PORT_MESSAGE_MAX]: a key of a length that is not the device's, or queues that nobody fills.
 */
bool port_rss_choose(struct port_rss *rss, const struct config *config,
	const struct rte_eth_dev_info *info, struct port_messages *messages, char *error);

/* Adds the choice to what the device is configured with. */
void port_rss_put(struct port_rss *rss, struct rte_eth_conf *conf);

/*
 * After the device started: reads fields and key back, makes the table even where it is not, and
 * says what differs from what was wanted.
 */
void port_rss_check(const struct port_rss *rss, uint16_t port_id,
	const struct rte_eth_dev_info *info, struct port_messages *messages);

/* Says what fields mean for a result that wanted `wanted`; what is wanted in full gives nothing. */
void port_rss_explain(const struct port_rss *rss, uint64_t fields, struct port_messages *messages);

/* A table of `size` entries, spread over the queues in turn: no queue has two more than another. */
void port_rss_fill_reta(struct rte_eth_rss_reta_entry64 *reta, uint32_t size, uint16_t nb_queues);
/* Does it spread so, whatever the order? */
bool port_rss_is_even(
	const struct rte_eth_rss_reta_entry64 *reta, uint32_t size, uint16_t nb_queues);
