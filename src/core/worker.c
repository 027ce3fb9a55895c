/* A thread of strata's own that runs jobs one after the other. */
#include "core/worker.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct job {
    void (*run)(void *argument);
    void *argument;
    struct job *next;
};

struct strata_worker {
    struct strata_allocator hooks; /* a copy: an orphan outlives the device */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *first, *last;
    bool ending;
    bool orphan; /* the thread frees the worker */
};

static void release(struct strata_worker *worker) {
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    struct strata_allocator hooks = worker->hooks;
    strata_host_release(&hooks, worker);
}

static void *loop(void *argument) {
    struct strata_worker *worker = argument;
    pthread_mutex_lock(&worker->lock);
    for (;;) {
        while (!worker->first && !worker->ending)
            pthread_cond_wait(&worker->changed, &worker->lock);
        struct job *job = worker->first;
        if (!job)
            break;
        worker->first = job->next;
        if (!worker->first)
            worker->last = NULL;
        pthread_mutex_unlock(&worker->lock);
        job->run(job->argument);
        strata_host_release(&worker->hooks, job);
        pthread_mutex_lock(&worker->lock);
    }
    bool orphan = worker->orphan;
    pthread_mutex_unlock(&worker->lock);
    if (orphan)
        release(worker);
    return NULL;
}

enum strata_status strata_worker_create(const struct strata_allocator *hooks, struct strata_worker **result) {
    struct strata_worker *worker = strata_host_allocate(hooks, sizeof *worker);
    if (!worker)
        return strata_fail_host_memory(sizeof *worker, "a worker");
    if (hooks)
        worker->hooks = *hooks;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    /* Signals are the application's business: none is delivered to a thread that it does not know. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    /* The lock makes `thread` known to the new thread before it runs a job. */
    pthread_mutex_lock(&worker->lock);
    int code = pthread_create(&worker->thread, NULL, loop, worker);
    pthread_mutex_unlock(&worker->lock);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code != 0) {
        release(worker);
        return strata_fail(STRATA_OUT_OF_MEMORY, "The system gave no thread for work on the host (error %d).", code);
    }
    *result = worker;
    return STRATA_OK;
}

void strata_worker_destroy(struct strata_worker *worker) {
    if (!worker)
        return;
    bool own = strata_worker_is_current(worker);
    pthread_mutex_lock(&worker->lock);
    worker->ending = true;
    worker->orphan = own;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    if (own) {
        pthread_detach(worker->thread);
        return;
    }
    pthread_join(worker->thread, NULL);
    release(worker);
}

enum strata_status strata_worker_submit(struct strata_worker *worker, void (*run)(void *argument), void *argument) {
    struct job *job = strata_host_allocate(&worker->hooks, sizeof *job);
    if (!job)
        return strata_fail_host_memory(sizeof *job, "a queued command");
    job->run = run;
    job->argument = argument;
    pthread_mutex_lock(&worker->lock);
    if (worker->last)
        worker->last->next = job;
    else
        worker->first = job;
    worker->last = job;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    return STRATA_OK;
}

bool strata_worker_is_current(const struct strata_worker *worker) {
    return worker && pthread_equal(worker->thread, pthread_self());
}
