/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "sketch/hyperloglog.h"

#define REGISTERS  (1 << HYPERLOGLOG_BITS)
#define VALUE_BITS (64 - HYPERLOGLOG_BITS) /* q in Ertl's paper */
#define VALUES     (VALUE_BITS + 2)        /* a register holds 0 to q + 1 */

void hyperloglog_reset(struct hyperloglog *hll)
{
	memset(hll, 0, sizeof(*hll));
}

/* A register holds one more than the number of zero bits after the register number. */
void hyperloglog_update(struct hyperloglog *hll, const struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		uint64_t hash = burst->hash[i].hi;
		uint64_t rest = hash << HYPERLOGLOG_BITS | UINT64_C(1) << (HYPERLOGLOG_BITS - 1);
		uint8_t *reg = &hll->registers[hash >> VALUE_BITS];
		uint8_t value = (uint8_t)(__builtin_clzll(rest) + 1);

		if (__builtin_expect(value > *reg, 0))
			*reg = value;
	}
}

void hyperloglog_merge(struct hyperloglog *dst, const struct hyperloglog *src)
{
	for (uint32_t i = 0; i < REGISTERS; i++)
		if (src->registers[i] > dst->registers[i])
			dst->registers[i] = src->registers[i];
}

/* Ertl's sigma(x): x + sum over k >= 1 of x^(2^k) * 2^(k - 1). */
static double sigma(double x)
{
	double y = 1, z = x, last;

	if (x >= 1)
		return INFINITY;
	do {
		x *= x;
		last = z;
		z += x * y;
		y += y;
	} while (z > last);
	return z;
}

/* Ertl's tau(x): (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 * 2^-k) / 3. */
static double tau(double x)
{
	double y = 1, z = 1 - x, last;

	if (x <= 0 || x >= 1)
		return 0;
	do {
		x = sqrt(x);
		last = z;
		y /= 2;
		z -= (1 - x) * (1 - x) * y;
	} while (z < last);
	return z / 3;
}

uint64_t hyperloglog_estimate(const struct hyperloglog *hll)
{
	const double m = REGISTERS;
	uint32_t count[VALUES] = {0};
	double z;

	for (uint32_t i = 0; i < REGISTERS; i++)
		count[hll->registers[i]]++;

	z = m * tau(1 - count[VALUE_BITS + 1] / m);
	for (uint32_t k = VALUE_BITS; k >= 1; k--)
		z = (z + count[k]) / 2;
	z += m * sigma(count[0] / m);
	return (uint64_t)llround(m * m / (2 * M_LN2 * z));
}
