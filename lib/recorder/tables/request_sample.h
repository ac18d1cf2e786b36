/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of a part of the connections (bpf/request/connection_sample.bpf.h), told as an estimate of all: what came before
 * they were thinned counts once, what came since as often as connections stand for.
 */
#pragma once
#include "recorder.h"

/* Connections that are followed, at least: of fewer an estimate is worth little. */
#define LEAST_CONNECTIONS 64

enum sampled_table { SAMPLED_EXCHANGES, SAMPLED_PARKED, SAMPLED_UNREAD, SAMPLED_ANSWERS, SAMPLED_TABLES };

/* Of so many accepted connections one is followed: 1, until they are thinned. */
uint32_t request_sample_one_of(void);
/* How thin the sample can become; `met`: connections that may be left out and were met in the last interval. */
uint32_t request_sample_most(struct recorder *recorder, uint64_t met);
void request_sample_thin(struct recorder *recorder, uint32_t one_of);
/* No request or call is followed any more, and none is told. */
void request_sample_end(struct recorder *recorder);
/* Before anything is told: how far off it may be. */
void request_sample_sum_up(struct recorder *recorder);
/* Makes a value that was read of a table an estimate of all.  Of counts the variance is in `squares` then. */
void request_sample_scale(enum sampled_table table, const void *key, void *value);
/* Half of the range that holds the true number with a probability of 95 %. */
uint64_t request_sample_error(uint64_t squares);
