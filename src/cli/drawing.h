/* The drawing of a device's memory as the architecture it is, and the link between it and the host. */
#ifndef STRATA_CLI_DRAWING_H
#define STRATA_CLI_DRAWING_H

#include "core/host.h"

#include "strata/device.h"

/* How the device hangs on the host, as the system tells it. */
struct strata_link {
    uint32_t lanes; /* of PCI Express; 0 where not known */
    char speed[32]; /* "32.0 GT/s"; "" where not known */
};

/* Looks the device up by its PCI id. What the system does not tell stays empty. */
struct strata_link strata_link_find(const struct strata_device_info *info);

/* The host's memory in bytes, or STRATA_UNKNOWN. */
uint64_t strata_host_memory(void);

/* "1.5 GiB", or "unknown"; answers `buffer`. */
const char *strata_format_known(uint64_t bytes, char *buffer, size_t size);

/* Adds the drawing: some lines of at most 80 columns, made of lines where `utf8`, else of '+', '-' and '|'. */
void strata_drawing_add(struct strata_text *text, const struct strata_device_info *info, const struct strata_link *link,
                        uint64_t host_bytes, bool utf8);

#endif
