/* A program as a user of the installed library would write it, in the common part of C99 and C++17. */
#include <strata/strata.h>

#include <stdio.h>

int main(void) {
    strata_device_list *list = NULL;
    enum strata_status status = strata_device_list_create(&list);
    printf("strata %s, %d bytes, %s\n", strata_version(), (int)strata_type_size(STRATA_F32), strata_status_name(status));
    strata_device_list_destroy(&list);
    /* Nothing can be built without a device. The call is for the link: it needs what the cache of binaries needs. */
    strata_program *program = NULL;
    if (strata_program_build(NULL, NULL, &program) != STRATA_INVALID_ARGUMENT)
        return 1;
    return strata_version_number() == STRATA_VERSION_NUMBER ? 0 : 2;
}
