/* Splitting an options string. OpenCL does not say how quotes work in it, so this reads them as a shell would. */
#include "program/options.h"

#include "program/list.h"

#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Whether the backslash here takes the meaning from the next byte; in double quotes a blank needs no escape. */
static bool is_escape(const char *at, char quote) {
    if (at[0] != '\\' || quote == '\'')
        return false;
    return at[1] == '\\' || at[1] == '"' || (quote == 0 && (at[1] == '\'' || is_blank(at[1])));
}

enum strata_status strata_option_next(const char *options, size_t *at, struct strata_text *word,
                                      struct strata_option_span *span, bool *found) {
    size_t i = *at, opened = 0;
    char quote = 0;
    word->length = 0;
    while (is_blank(options[i]))
        i++;
    span->begin = i;
    *found = options[i] != '\0';
    strata_text_append(word, "", 0);
    for (; options[i] != '\0' && (quote != 0 || !is_blank(options[i])); i++) {
        char c = options[i];
        if (is_escape(options + i, quote)) {
            strata_text_append(word, options + ++i, 1);
        } else if (quote == 0 && (c == '"' || c == '\'')) {
            quote = c;
            opened = i;
        } else if (quote != 0 && c == quote) {
            quote = 0;
        } else {
            strata_text_append(word, &c, 1);
        }
    }
    span->end = i;
    *at = i;
    if (quote != 0)
        return strata_fail(STRATA_INVALID_ARGUMENT,
                           "The build options have a %s quote at offset %zu that is never closed: %s",
                           quote == '"' ? "double" : "single", opened, options);
    if (word->failed)
        return strata_fail_host_memory(word->length, "build options");
    return STRATA_OK;
}

static enum strata_status add_directory(struct strata_options *split, const char *name, size_t length) {
    char *copy = NULL;
    if (length == 0)
        return strata_fail(STRATA_INVALID_ARGUMENT, "The build options have -I without a folder behind it.");
    if (strata_list_grow(split->hooks, &split->directories, &split->directory_capacity, split->directory_count,
                         sizeof *split->directories))
        copy = strata_host_copy_string(split->hooks, name, length);
    if (copy == NULL)
        return strata_fail_host_memory(length, "include folders");
    split->directories[split->directory_count++] = copy;
    return STRATA_OK;
}

/* Whether the word is an option whose value is the next word, which then is no option itself. */
static bool takes_next(const struct strata_text *word) {
    return strcmp(word->data, "-D") == 0 || strcmp(word->data, "-U") == 0;
}

/* Goes through the words: folders into `split`, the rest into `cleaned`. A folder goes with the blanks before it, since
 * one behind the word before could be the escaped end of that word. */
static enum strata_status split_words(const char *options, struct strata_text *word, struct strata_text *cleaned,
                                      struct strata_options *split) {
    size_t at = 0, kept = 0, word_end = 0;
    bool is_value = false;
    for (;;) {
        struct strata_option_span span;
        bool found = false;
        enum strata_status status = strata_option_next(options, &at, word, &span, &found);
        if (status != STRATA_OK)
            return status;
        if (!found)
            break;
        if (is_value || strncmp(word->data, "-I", 2) != 0) {
            is_value = !is_value && takes_next(word);
            word_end = span.end;
            continue;
        }
        size_t skip = 2;
        if (word->length == 2) {
            skip = 0;
            status = strata_option_next(options, &at, word, &span, &found);
        }
        if (status == STRATA_OK)
            status = add_directory(split, word->data + skip, word->length - skip);
        if (status != STRATA_OK)
            return status;
        strata_text_append(cleaned, options + kept, word_end - kept);
        while (cleaned->length == 0 && is_blank(options[at]))
            at++;
        kept = at;
        word_end = at;
    }
    strata_text_add(cleaned, options + kept);
    return STRATA_OK;
}

enum strata_status strata_options_split(const struct strata_allocator *hooks, const char *options,
                                        struct strata_options *split) {
    *split = (struct strata_options){.hooks = hooks};
    struct strata_text word = {.hooks = hooks}, cleaned = {.hooks = hooks};
    enum strata_status status = split_words(options != NULL ? options : "", &word, &cleaned, split);
    strata_text_release(&word);
    if (status == STRATA_OK && cleaned.failed)
        status = strata_fail_host_memory(cleaned.length, "build options");
    if (status == STRATA_OK)
        split->cleaned = cleaned.data;
    else
        strata_text_release(&cleaned);
    return status;
}

void strata_options_release(struct strata_options *split) {
    for (size_t i = 0; i < split->directory_count; i++)
        strata_host_release(split->hooks, split->directories[i]);
    strata_host_release(split->hooks, split->directories);
    strata_host_release(split->hooks, split->cleaned);
    *split = (struct strata_options){.hooks = split->hooks};
}

enum strata_status strata_options_macros(const struct strata_allocator *hooks, const char *options,
                                         void (*each)(const char *name, size_t length, void *user), void *user) {
    struct strata_text word = {.hooks = hooks};
    struct strata_option_span span;
    enum strata_status status = STRATA_OK;
    size_t at = 0;
    bool found = true, is_value = false;
    while (options != NULL && status == STRATA_OK && found) {
        status = strata_option_next(options, &at, &word, &span, &found);
        if (status != STRATA_OK || !found)
            break;
        bool joined = strncmp(word.data, "-D", 2) == 0 || strncmp(word.data, "-U", 2) == 0;
        if (is_value || (joined && word.length > 2)) {
            const char *name = word.data + (is_value ? 0 : 2);
            each(name, strcspn(name, "=("), user);
        }
        is_value = !is_value && joined && word.length == 2;
    }
    strata_text_release(&word);
    return status;
}
