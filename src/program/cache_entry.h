/* The form of a cache file: a header with a checksum, the whole key, and the two parts of the entry. */
#ifndef STRATA_PROGRAM_CACHE_ENTRY_H
#define STRATA_PROGRAM_CACHE_ENTRY_H

#include "program/cache.h"

/* To be raised with every change to the form of a file or to what its parts mean. */
#define STRATA_CACHE_FORMAT 1

/* 32 hexadecimal digits and ".bin", and the terminator. */
#define STRATA_CACHE_NAME_SIZE 37

/* Appends all fields of the key, each with its length before it, so that no two keys give the same bytes. */
void strata_cache_encode_key(const struct strata_cache_key *key, struct strata_text *out);

/* The name of the file for an encoded key. */
void strata_cache_name(const struct strata_text *key, char name[STRATA_CACHE_NAME_SIZE]);
bool strata_cache_is_name(const char *name);

/* Appends the whole file to the empty `out`. */
void strata_cache_encode(const struct strata_text *key, const struct strata_cache_entry *entry,
                         struct strata_text *out);

/* Reads a file back. Returns NULL and points *entry into `bytes` when it is whole and made for this very key, else what
 * is wrong with it, a static string. */
const char *strata_cache_decode(const void *bytes, size_t length, const struct strata_text *key,
                                struct strata_cache_entry *entry);

#endif
