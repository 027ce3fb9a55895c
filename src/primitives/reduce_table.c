/* The types and operations of reductions: sizes, names, results. */
#include "primitives/reduce.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    enum strata_type accumulated; /* the type of sums and products */
} types[] = {
    [STRATA_I32] = {"i32", 4, STRATA_I64}, [STRATA_U32] = {"u32", 4, STRATA_U64}, [STRATA_I64] = {"i64", 8, STRATA_I64},
    [STRATA_U64] = {"u64", 8, STRATA_U64}, [STRATA_F32] = {"f32", 4, STRATA_F32}, [STRATA_F64] = {"f64", 8, STRATA_F64},
};

static bool is_type(enum strata_type type) {
    return (int)type >= STRATA_I32 && (int)type <= STRATA_F64;
}

size_t strata_type_size(enum strata_type type) {
    return is_type(type) ? types[type].bytes : 0;
}

const char *strata_type_name(enum strata_type type) {
    return is_type(type) ? types[type].name : "";
}

enum strata_type strata_reduce_result_type(enum strata_reduce_op op, enum strata_type type) {
    if (!is_type(type))
        return (enum strata_type)0;
    switch (op) {
    case STRATA_SUM:
    case STRATA_PRODUCT:
        return types[type].accumulated;
    case STRATA_MIN:
    case STRATA_MAX:
        return type;
    case STRATA_ARG_MIN:
    case STRATA_ARG_MAX:
        return STRATA_U64;
    }
    return (enum strata_type)0;
}

size_t strata_reduce_result_bytes(enum strata_reduce_op op, enum strata_type type) {
    return strata_type_size(strata_reduce_result_type(op, type));
}

enum strata_status strata_reduce_check(const strata_device *device, enum strata_reduce_op op, enum strata_type type) {
    if (strata_reduce_result_type(op, type) == 0)
        return strata_fail(STRATA_INVALID_ARGUMENT, "There is no reduction with operation %d and type %d.", (int)op,
                           (int)type);
    if (type == STRATA_F64 && !device->info.fp64)
        return strata_fail(STRATA_UNSUPPORTED, "Device '%s' has no double precision, so it cannot reduce f64.",
                           device->name);
    return STRATA_OK;
}

enum strata_status strata_reduce_of_nothing(enum strata_reduce_op op, enum strata_type type, void *result) {
    size_t bytes = strata_reduce_result_bytes(op, type);
    if (op != STRATA_SUM && op != STRATA_PRODUCT)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The smallest or largest of no elements is not defined.");
    const float one_f32 = 1;
    const double one_f64 = 1;
    const uint64_t one_u64 = 1;
    memset(result, 0, bytes);
    if (op == STRATA_PRODUCT)
        memcpy(result,
               type == STRATA_F32   ? (const void *)&one_f32
               : type == STRATA_F64 ? (const void *)&one_f64
                                    : (const void *)&one_u64,
               bytes);
    return STRATA_OK;
}
