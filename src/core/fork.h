/* Knowing that this process is a child of one that had loaded a runtime. */
#ifndef STRATA_CORE_FORK_H
#define STRATA_CORE_FORK_H

#include "core/error.h"

/* Called before the first call into any runtime; from then on a child knows that it is one. Cheap when repeated. */
void strata_fork_watch(void);

/* One relaxed load. In such a child a runtime's locks may be held by threads that no longer exist, so strata touches
 * neither them nor its own. */
bool strata_fork_happened(void);

enum strata_status strata_fail_forked(void);

/* First line of every public call that can fail. */
#define STRATA_REFUSE_IN_CHILD()                                                                                       \
    do {                                                                                                               \
        if (strata_fork_happened())                                                                                    \
            return strata_fail_forked();                                                                               \
    } while (0)

#endif
