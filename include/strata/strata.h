/* All of strata but the interop headers. */
#ifndef STRATA_STRATA_H
#define STRATA_STRATA_H

#include "strata/device.h"
#include "strata/fault.h"
#include "strata/memory.h"
#include "strata/offsets.h"
#include "strata/pool.h"
#include "strata/primitives.h"
#include "strata/program.h"
#include "strata/queue.h"
#include "strata/status.h"
#include "strata/trace.h"
#include "strata/transfer.h"
#include "strata/version.h"

#endif
