/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records of --flows with the column names and values of GoFlow2. Times are exact to the ns,
 * whereas GoFlow2 has only ms for IPFIX.
 */

#include "report/rows/rows.h"

static const char *const protocols[] = {"HOPOPT", "ICMP", "IGMP", "GGP", "IPv4", "ST", "TCP", "CBT",
	"EGP", "IGP", "BBN-RCC-MON", "NVP-II", "PUP", "ARGUS", "EMCON", "XNET", "CHAOS", "UDP",
	"MUX", "DCN-MEAS", "HMP", "PRM", "XNS-IDP", "TRUNK-1", "TRUNK-2", "LEAF-1", "LEAF-2", "RDP",
	"IRTP", "ISO-TP4", "NETBLT", "MFE-NSP", "MERIT-INP", "DCCP", "3PC", "IDPR", "XTP", "DDP",
	"IDPR-CMTP", "TP++", "IL", "IPv6", "SDRP", "IPv6-Route", "IPv6-Frag", "IDRP", "RSVP", "GRE",
	"DSR", "BNA", "ESP", "AH", "I-NLSP", "SWIPE", "NARP", "Min-IPv4", "TLSP", "SKIP",
	"IPv6-ICMP", "IPv6-NoNxt", "IPv6-Opts", "any-host-internal-protocol", "CFTP",
	"any-local-network", "SAT-EXPAK", "KRYPTOLAN", "RVD", "IPPC", "any-distributed-file-system",
	"SAT-MON", "VISA", "IPCV", "CPNX", "CPHB", "WSN", "PVP", "BR-SAT-MON", "SUN-ND", "WB-MON",
	"WB-EXPAK", "ISO-IP", "VMTP", "SECURE-VMTP", "VINES", "IPTM", "NSFNET-IGP", "DGP", "TCF",
	"EIGRP", "OSPFIGP", "Sprite-RPC", "LARP", "MTP", "AX.25", "IPIP", "MICP", "SCC-SP",
	"ETHERIP", "ENCAP", "any-private-encryption-scheme", "GMTP", "IFMP", "PNNI", "PIM", "ARIS",
	"SCPS", "QNX", "A/N", "IPComp", "SNP", "Compaq-Peer", "IPX-in-IP", "VRRP", "PGM",
	"any-0-hop-protocol", "L2TP", "DDX", "IATP", "STP", "SRP", "UTI", "SMP", "SM", "PTP",
	"ISIS over IPv4", "FIRE", "CRTP", "CRUDP", "SSCOPMCE", "IPLT", "SPS", "PIPE", "SCTP", "FC",
	"RSVP-E2E-IGNORE", "Mobility Header", "UDPLite", "MPLS-in-IP", "manet", "HIP", "Shim6",
	"WESP", "ROHC", "Ethernet", "AGGFRAG", "NSH"};

#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

static const struct report_flow *flow_of(const struct output_row *row)
{
	return row->item;
}

static bool has(const struct output_row *row, const struct column *column)
{
	return key_rule_has(row->measurement->key_rule, (enum key_field_id)column->index);
}

COLUMN_PRINTER(print_key)
{
	if (has(row, column))
		print_key_text(text, row->measurement->key_rule, &flow_of(row)->key,
			(enum key_field_id)column->index);
}

COLUMN_PRINTER(print_proto)
{
	uint64_t proto;

	if (!has(row, column))
		return;
	proto = key_field_number(row->measurement->key_rule, &flow_of(row)->key, KEY_PROTO);
	if (proto < PROTOCOLS)
		text_str(text, protocols[proto]);
	else
		text_str(text, proto < 253   ? "unassigned"
			       : proto < 255 ? "experimental"
					     : "reserved");
}

COLUMN_PRINTER(print_etype)
{
	text_str(text, key_is_ipv4(&flow_of(row)->key) ? "IPv4" : "IPv6");
}

COLUMN_PRINTER(print_type)
{
	text_str(text, "IPFIX");
}

COLUMN_PRINTER(print_sequence)
{
	const struct report_measurement *measurement = row->measurement;

	text_u64(text, (uint32_t)(measurement->first_record +
				  (uint64_t)(flow_of(row) - measurement->flows)));
}

/* GoFlow2 counts the bytes from layer 3 on. */
COLUMN_PRINTER(print_bytes)
{
	if (row->measurement->ip_bytes)
		text_u64(text, flow_of(row)->ip_bytes);
}

COLUMN_PRINTER(print_index)
{
	text_u64(text, column->index);
}

#define AT(member) .at = offsetof(struct report_flow, member)
#define KEY(field) .print = print_key, .index = (field)

static const struct column columns[] = {
	{"type", COLUMN_WORD, .print = print_type},
	{"time_received_ns", COLUMN_U64, AT(last)},
	{"sequence_num", COLUMN_NUMBER, .print = print_sequence},
	{"sampling_rate", COLUMN_NUMBER, .print = print_index, .index = 1},
	{"time_flow_start_ns", COLUMN_U64, AT(first)},
	{"time_flow_end_ns", COLUMN_U64, AT(last)},
	{"bytes", COLUMN_NUMBER, .print = print_bytes},
	{"packets", COLUMN_U64, AT(packets)},
	{"src_addr", COLUMN_WORD, KEY(KEY_SRC_IP)},
	{"dst_addr", COLUMN_WORD, KEY(KEY_DST_IP)},
	{"etype", COLUMN_WORD, .print = print_etype},
	{"proto", COLUMN_WORD, .print = print_proto, .index = KEY_PROTO},
	{"src_port", COLUMN_NUMBER, KEY(KEY_SRC_PORT)},
	{"dst_port", COLUMN_NUMBER, KEY(KEY_DST_PORT)},
	{"in_if", COLUMN_NUMBER, .print = print_index, .index = 1},
	{"out_if", COLUMN_NUMBER, .print = print_index, .index = 0},
	{"tcp_flags", COLUMN_U8, AT(tcp_flags)},
};

const struct column_table goflow2_flows = {columns, sizeof(columns) / sizeof(columns[0])};
