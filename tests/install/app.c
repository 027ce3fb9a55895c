/* A user of an installed strata, in C and in C++: it links for real, and says which version it got. */
#include <strata/strata.h>

#include <stdio.h>

int main(void) {
    strata_device_list *list = NULL;
    if (strata_type_size(STRATA_F64) != 8)
        return 1;
    if (strata_device_list_create(&list) != STRATA_OK)
        printf("no devices: %s\n", strata_last_error()->message);
    strata_device_list_destroy(&list);
    printf("strata %s\n", strata_version());
    return 0;
}
