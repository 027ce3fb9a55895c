/* The OpenCL dispatch tables: the plain one, and the one that lets a single thread at a time into the runtime. */

#include "backend/opencl/calls.h"

#include <pthread.h>

static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;

#define SERIAL_CALL(result, name, parameters, arguments)                                                               \
    static result CL_API_CALL serial_##name parameters {                                                               \
        pthread_mutex_lock(&serial);                                                                                   \
        result answer = cl##name arguments;                                                                            \
        pthread_mutex_unlock(&serial);                                                                                 \
        return answer;                                                                                                 \
    }
STRATA_CL_CALLS(SERIAL_CALL)

static void CL_API_CALL serial_SVMFree(cl_context context, void *pointer) {
    pthread_mutex_lock(&serial);
    clSVMFree(context, pointer);
    pthread_mutex_unlock(&serial);
}

#define PLAIN_MEMBER(result, name, parameters, arguments) .name = cl##name,
#define SERIAL_MEMBER(result, name, parameters, arguments) .name = serial_##name,
static const struct strata_cl_calls plain_calls = {STRATA_CL_CALLS(PLAIN_MEMBER).SVMFree = clSVMFree};
static const struct strata_cl_calls serial_calls = {STRATA_CL_CALLS(SERIAL_MEMBER).SVMFree = serial_SVMFree};

const struct strata_cl_calls *strata_cl_calls_for(bool serialise) {
    return serialise ? &serial_calls : &plain_calls;
}

void strata_cl_serial_enter(bool serialise) {
    if (serialise)
        pthread_mutex_lock(&serial);
}

void strata_cl_serial_leave(bool serialise) {
    if (serialise)
        pthread_mutex_unlock(&serial);
}
