/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_protocols/netflow/element.h"

#include <stddef.h>

#include "flow_protocols/record.h"

#define NUMBER  FORM_NUMBER
#define ADDRESS FORM_ADDRESS

/* clang-format off */
#define ROW(number_, use_, form_, rank_, min, max)                                                 \
	{.number = (number_), .use = USE_##use_, .form = (form_), .rank = (rank_),                 \
		.min_len = (min), .max_len = (max)}
#define RESPONDER(number_, use_)                                                                   \
	{.number = (number_), .use = USE_##use_, .form = FORM_NUMBER, .reverse = true,             \
		.min_len = 1, .max_len = 8}

/*
 * Elements of KEY_EXTRA_FIELDS have rank 1: an element with rank 0 for the same use is preferred.
 */
#define FIELD_ROW(name, word, bits, type, column, number_, form, ...)                              \
	FIELD_ROW_##form(number_, name, KEY_EXTRA_SIZE(word))
#define FIELD_ROW_NUMBER(number_, use_, size)     ROW(number_, use_, NUMBER, 1, size, 8),
#define FIELD_ROW_MPLS_ENTRY(number_, use_, size) ROW(number_, use_, FORM_MPLS_ENTRY, 1, size, size),
#define FIELD_ROW_INTERFACE(...)
#define FIELD_ROW_NONE(...)

const struct element elements[] = {
	ROW(1, BYTES, NUMBER, 0, 1, 8),           /* octetDeltaCount */
	ROW(2, PACKETS, NUMBER, 0, 1, 8),         /* packetDeltaCount */
	ROW(4, PROTO, NUMBER, 0, 1, 8),           /* protocolIdentifier */
	ROW(5, DSCP, FORM_TOS, 0, 1, 8),          /* ipClassOfService */
	ROW(7, SRC_PORT, NUMBER, 0, 1, 8),        /* sourceTransportPort */
	ROW(8, SRC_IPV4, ADDRESS, 0, 4, 4),       /* sourceIPv4Address */
	ROW(10, INPUT, NUMBER, 0, 1, 8),          /* ingressInterface */
	ROW(11, DST_PORT, NUMBER, 0, 1, 8),       /* destinationTransportPort */
	ROW(12, DST_IPV4, ADDRESS, 0, 4, 4),      /* destinationIPv4Address */
	ROW(14, OUTPUT, NUMBER, 0, 1, 8),         /* egressInterface */
	ROW(15, NEXT_HOP_IPV4, ADDRESS, 0, 4, 4), /* ipNextHopIPv4Address */
	ROW(18, NEXT_HOP_IPV4, ADDRESS, 1, 4, 4), /* bgpNextHopIPv4Address */
	ROW(21, END_UPTIME, NUMBER, 0, 1, 8),     /* flowEndSysUpTime */
	ROW(22, START_UPTIME, NUMBER, 0, 1, 8),   /* flowStartSysUpTime */
	ROW(23, POST_BYTES, NUMBER, 0, 1, 8),     /* postOctetDeltaCount */
	ROW(24, POST_PACKETS, NUMBER, 0, 1, 8),   /* postPacketDeltaCount */
	ROW(27, SRC_IPV6, ADDRESS, 0, 16, 16),    /* sourceIPv6Address */
	ROW(28, DST_IPV6, ADDRESS, 0, 16, 16),    /* destinationIPv6Address */
	ROW(34, SAMPLING, NUMBER, 0, 1, 8),       /* samplingInterval */
	ROW(35, ALGORITHM, NUMBER, 0, 1, 8),      /* samplingAlgorithm */
	ROW(44, SRC_IPV4, ADDRESS, 1, 4, 4),      /* sourceIPv4Prefix */
	ROW(45, DST_IPV4, ADDRESS, 1, 4, 4),      /* destinationIPv4Prefix */
	ROW(48, SAMPLER, NUMBER, 1, 1, 8),        /* samplerId */
	ROW(49, ALGORITHM, NUMBER, 1, 1, 8),      /* samplerMode */
	ROW(50, SAMPLING, NUMBER, 1, 1, 8),       /* samplerRandomInterval */
	ROW(52, TTL, NUMBER, 2, 1, 8),            /* minimumTTL */
	ROW(53, TTL, NUMBER, 1, 1, 8),            /* maximumTTL */
	ROW(60, IP_VERSION, NUMBER, 0, 1, 8),     /* ipVersion */
	ROW(61, DIRECTION, NUMBER, 0, 1, 8),      /* flowDirection */
	ROW(62, NEXT_HOP_IPV6, ADDRESS, 0, 16, 16), /* ipNextHopIPv6Address */
	ROW(63, NEXT_HOP_IPV6, ADDRESS, 1, 16, 16), /* bgpNextHopIPv6Address */
	ROW(82, INTERFACE_NAME, FORM_TEXT, 0, 0, UINT8_MAX), /* interfaceName */
	ROW(83, INTERFACE_NAME, FORM_TEXT, 1, 0, UINT8_MAX), /* interfaceDescription */
	ROW(85, TOTAL_BYTES, NUMBER, 0, 1, 8),    /* octetTotalCount */
	ROW(86, TOTAL_PACKETS, NUMBER, 0, 1, 8),  /* packetTotalCount */
	ROW(130, EXPORTER_IPV4, ADDRESS, 1, 4, 4), /* exporterIPv4Address */
	ROW(131, EXPORTER_IPV6, ADDRESS, 1, 16, 16), /* exporterIPv6Address */
	ROW(136, END_REASON, NUMBER, 0, 1, 8),    /* flowEndReason */
	ROW(150, START_SECONDS, NUMBER, 0, 1, 8), /* flowStartSeconds */
	ROW(151, END_SECONDS, NUMBER, 0, 1, 8),   /* flowEndSeconds */
	ROW(152, START_MILLISECONDS, NUMBER, 0, 1, 8), /* flowStartMilliseconds */
	ROW(153, END_MILLISECONDS, NUMBER, 0, 1, 8), /* flowEndMilliseconds */
	ROW(154, START_NTP, NUMBER, 0, 8, 8),     /* flowStartMicroseconds */
	ROW(155, END_NTP, NUMBER, 0, 8, 8), /* flowEndMicroseconds */
	ROW(156, START_NTP, NUMBER, 1, 8, 8),     /* flowStartNanoseconds */
	ROW(157, END_NTP, NUMBER, 1, 8, 8), /* flowEndNanoseconds */
	ROW(164, LOST, NUMBER, LOSS_COUNTER_IGNORED_PACKETS, 1, 8), /* ignoredPacketTotalCount */
	ROW(165, LOST, NUMBER, LOSS_COUNTER_IGNORED_BYTES, 1, 8),   /* ignoredOctetTotalCount */
	ROW(166, LOST, NUMBER, LOSS_COUNTER_FLOWS, 1, 8),           /* notSentFlowTotalCount */
	ROW(167, LOST, NUMBER, LOSS_COUNTER_PACKETS, 1, 8),         /* notSentPacketTotalCount */
	ROW(168, LOST, NUMBER, LOSS_COUNTER_BYTES, 1, 8),           /* notSentOctetTotalCount */
	ROW(169, DST_IPV6, ADDRESS, 1, 16, 16),   /* destinationIPv6Prefix */
	ROW(170, SRC_IPV6, ADDRESS, 1, 16, 16),   /* sourceIPv6Prefix */
	ROW(171, POST_TOTAL_BYTES, NUMBER, 0, 1, 8),   /* postOctetTotalCount */
	ROW(172, POST_TOTAL_PACKETS, NUMBER, 0, 1, 8), /* postPacketTotalCount */
	ROW(192, TTL, NUMBER, 0, 1, 8),           /* ipTTL */
	ROW(231, INITIATOR_BYTES, NUMBER, 0, 1, 8), /* initiatorOctets */
	RESPONDER(232, INITIATOR_BYTES),          /* responderOctets */
	ROW(233, FIREWALL_EVENT, NUMBER, 0, 1, 8), /* firewallEvent */
	ROW(243, DOT1Q_VLAN, NUMBER, 0, 2, 8),    /* dot1qVlanId */
	ROW(245, DOT1Q_CUSTOMER, NUMBER, 0, 2, 8), /* dot1qCustomerVlanId */
	ROW(252, INPUT, NUMBER, 1, 1, 8),         /* ingressPhysicalInterface */
	ROW(253, OUTPUT, NUMBER, 1, 1, 8),        /* egressPhysicalInterface */
	ROW(298, INITIATOR_PACKETS, NUMBER, 0, 1, 8), /* initiatorPackets */
	RESPONDER(299, INITIATOR_PACKETS),        /* responderPackets */
	ROW(300, DOMAIN_NAME, FORM_TEXT, 0, 0, UINT8_MAX), /* observationDomainName */
	ROW(302, SAMPLER, NUMBER, 0, 1, 8),       /* selectorId */
	ROW(304, ALGORITHM, NUMBER, 2, 1, 8),     /* selectorAlgorithm */
	ROW(305, SAMPLED_RUN, NUMBER, 0, 1, 8),   /* samplingPacketInterval */
	ROW(306, SKIPPED_RUN, NUMBER, 0, 1, 8),   /* samplingPacketSpace */
	ROW(307, SAMPLED, NUMBER, 0, 1, 8),       /* samplingTimeInterval */
	ROW(308, SAMPLED, NUMBER, 1, 1, 8),       /* samplingTimeSpace */
	ROW(309, SAMPLE_SIZE, NUMBER, 0, 1, 8),   /* samplingSize */
	ROW(310, POPULATION, NUMBER, 0, 1, 8),    /* samplingPopulation */
	ROW(311, PROBABILITY, FORM_FLOAT, 0, 4, 8), /* samplingProbability */
	ROW(329, SAMPLED, NUMBER, 2, 1, 8),       /* hashOutputRangeMin */
	ROW(330, SAMPLED, NUMBER, 3, 1, 8),       /* hashOutputRangeMax */
	ROW(331, SAMPLED, NUMBER, 4, 1, 8),       /* hashSelectedRangeMin */
	ROW(332, SAMPLED, NUMBER, 5, 1, 8),       /* hashSelectedRangeMax */
	ROW(352, LAYER2_BYTES, NUMBER, 0, 1, 8),  /* layer2OctetDeltaCount */
	ROW(353, LAYER2_TOTAL_BYTES, NUMBER, 0, 1, 8), /* layer2OctetTotalCount */
	ROW(390, FLOW_SELECTION, NUMBER, 0, 1, 8), /* flowSelectorAlgorithm */
	ROW(396, FLOW_SELECTION, NUMBER, 1, 1, 8), /* samplingFlowInterval */
	ROW(397, FLOW_SELECTION, NUMBER, 2, 1, 8), /* samplingFlowSpacing */
	ROW(398, FLOW_SELECTION, NUMBER, 3, 1, 8), /* flowSamplingTimeInterval */
	ROW(399, FLOW_SELECTION, NUMBER, 4, 1, 8), /* flowSamplingTimeSpacing */
	ROW(403, EXPORTER_IPV4, ADDRESS, 0, 4, 4), /* originalExporterIPv4Address */
	ROW(404, EXPORTER_IPV6, ADDRESS, 0, 16, 16), /* originalExporterIPv6Address */
	ROW(405, EXPORTER_DOMAIN, NUMBER, 0, 1, 8), /* originalObservationDomainId */
	ROW(40005, FIREWALL_EVENT, NUMBER, 1, 1, 8), /* firewallEvent of older Cisco ASA (v9) */
	KEY_EXTRA_FIELDS(FIELD_ROW)
};
/* clang-format on */

const uint32_t nb_elements = sizeof(elements) / sizeof(elements[0]);

const struct element *element_find(uint32_t enterprise, uint16_t number)
{
	for (uint32_t e = 0; e < nb_elements; e++)
		if (elements[e].number == number && elements[e].enterprise == enterprise)
			return &elements[e];
	return NULL;
}
