/* Reads fault plans: words separated by commas, as strata/fault.h describes them. */
#include "backend/fault/plan.h"

#include <string.h>

/* No word of a plan is longer. */
#define WORD_BYTES 128

static const char *const kind_names[STRATA_FAULT_KINDS] = {
    "open",  "create", "part", "commit", "write", "read",  "copy", "fill",   "box",    "map",    "unmap", "queue",
    "flush", "finish", "mark", "wait",   "event", "build", "load", "binary", "kernel", "launch", "host",  "any"};

const char *strata_fault_kind_name(enum strata_fault_kind kind) {
    return kind_names[kind];
}

bool strata_fault_kind_of(const char *name, size_t length, enum strata_fault_kind *kind) {
    for (unsigned i = 0; i < STRATA_FAULT_KINDS; i++)
        if (strlen(kind_names[i]) == length && memcmp(kind_names[i], name, length) == 0) {
            *kind = (enum strata_fault_kind)i;
            return true;
        }
    char list[256];
    size_t at = 0;
    for (unsigned i = 0; i < STRATA_FAULT_KINDS; i++) {
        const char *before = i == 0 ? "" : i + 1 < STRATA_FAULT_KINDS ? ", " : " or ";
        memcpy(list + at, before, strlen(before));
        at += strlen(before);
        memcpy(list + at, kind_names[i], strlen(kind_names[i]));
        at += strlen(kind_names[i]);
    }
    list[at] = '\0';
    strata_fail(STRATA_INVALID_ARGUMENT, "'%.*s' is no kind of call in a fault plan; it can be %s.",
                (int)(length < WORD_BYTES ? length : WORD_BYTES), name, list);
    return false;
}

static enum strata_status fail_value(const char *word, const char *right) {
    return strata_fail(STRATA_INVALID_ARGUMENT, "The fault plan's '%s' is wrong: %s.", word, right);
}

/* "KIND:" in front of a value; *rest is what follows. */
static bool take_kind(const char *value, enum strata_fault_kind *kind, const char **rest) {
    const char *colon = strchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    *rest = colon ? colon + 1 : "";
    return strata_fault_kind_of(value, length, kind);
}

/* A number that ends at one of `ends` or at the end of the string, not 0. */
static bool take_count(const char *text, const char *ends, uint64_t *number, const char **rest) {
    char digits[32];
    size_t length = strcspn(text, ends);
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *rest = text + length;
    return strata_parse_u64(digits, number) && *number > 0;
}

static enum strata_status read_fail(struct strata_fault_rules *rules, const char *word, const char *value) {
    static const char right[] = "it can be fail=KIND:N (the N-th call), fail=KIND:N+ (that and all later ones) or "
                                "fail=KIND:N*M (M of them), with N and M from 1 on";
    struct strata_fault_rule rule;
    const char *rest;
    uint64_t count;
    if (rules->fail_count == STRATA_FAULT_RULES)
        return fail_value(word, "a plan has at most 16 words 'fail'");
    if (!take_kind(value, &rule.kind, &rest))
        return STRATA_INVALID_ARGUMENT;
    if (!take_count(rest, "+*", &rule.first, &rest))
        return fail_value(word, right);
    rule.last = rule.first;
    if (rest[0] == '+' && rest[1] == '\0')
        rule.last = UINT64_MAX;
    else if (rest[0] == '*' && take_count(rest + 1, "", &count, &rest) && strata_add(rule.first, count - 1, &rule.last))
        ;
    else if (rest[0] != '\0')
        return fail_value(word, right);
    rules->fail[rules->fail_count++] = rule;
    return STRATA_OK;
}

/* The name of the constant in small letters, with dashes. */
static bool is_status(const char *value, enum strata_status status) {
    const char *name = strata_status_name(status);
    size_t at = 0;
    for (; name[at]; at++) {
        char letter = name[at] == '_' ? '-' : (char)(name[at] - 'A' + 'a');
        if (value[at] != letter)
            return false;
    }
    return value[at] == '\0';
}

static enum strata_status read_status(struct strata_fault_rules *rules, const char *word, const char *value) {
    for (int i = STRATA_INVALID_ARGUMENT; i <= STRATA_INTERNAL; i++)
        if (is_status(value, (enum strata_status)i)) {
            rules->status = (enum strata_status)i;
            return STRATA_OK;
        }
    return fail_value(word, "it can be status=out-of-memory, device-lost, too-large, unsupported, build-failed, "
                            "internal, or another status but OK, in small letters with dashes");
}

/* "0.05" as a share of STRATA_FAULT_RATE_WHOLE, whatever the locale. Digits beyond the ninth do not matter. */
static bool parse_share(const char *text, uint64_t *share) {
    uint64_t value = 0, digit = STRATA_FAULT_RATE_WHOLE;
    if (text[0] != '0' && text[0] != '1')
        return false;
    value = (uint64_t)(text[0] - '0') * STRATA_FAULT_RATE_WHOLE;
    text++;
    if (*text == '.' && text[1] != '\0')
        for (text++; *text >= '0' && *text <= '9'; text++) {
            digit /= 10;
            value += (uint64_t)(*text - '0') * digit;
        }
    *share = value;
    return *text == '\0' && value <= STRATA_FAULT_RATE_WHOLE;
}

static enum strata_status read_rate(struct strata_fault_rules *rules, const char *word, const char *value) {
    const char *share = value;
    if (strchr(value, ':') && !take_kind(value, &rules->rate_kind, &share))
        return STRATA_INVALID_ARGUMENT;
    return parse_share(share, &rules->rate)
               ? STRATA_OK
               : fail_value(word, "it can be rate=P or rate=KIND:P, with a share P of the calls from 0 to 1, as 0.05");
}

static enum strata_status read_seed(struct strata_fault_rules *rules, const char *word, const char *value) {
    return strata_parse_u64(value, &rules->seed) ? STRATA_OK : fail_value(word, "it can be seed=N");
}

static enum strata_status read_thread(struct strata_fault_rules *rules, const char *word, const char *value) {
    return strata_parse_u64(value, &rules->thread) && rules->thread > 0
               ? STRATA_OK
               : fail_value(word, "it can be thread=N, with N from 1 on: the N-th thread that calls");
}

static enum strata_status read_size(const char *word, const char *value, uint64_t *bytes) {
    return strata_parse_size(value, bytes) ? STRATA_OK
                                           : fail_value(word, "it takes a size in bytes, such as 4096, 64KiB or 2GB");
}

static enum strata_status read_above(struct strata_fault_rules *rules, const char *word, const char *value) {
    return read_size(word, value, &rules->above);
}

static enum strata_status read_memory(struct strata_fault_rules *rules, const char *word, const char *value) {
    return read_size(word, value, &rules->memory);
}

static enum strata_status read_largest(struct strata_fault_rules *rules, const char *word, const char *value) {
    return read_size(word, value, &rules->largest);
}

static enum strata_status read_slow(struct strata_fault_rules *rules, const char *word, const char *value) {
    uint64_t microseconds;
    return strata_parse_u64(value, &microseconds) && strata_multiply(microseconds, 1000, &rules->slow_ns) &&
                   rules->slow_ns <= UINT64_C(1000000000)
               ? STRATA_OK
               : fail_value(word, "it can be slow=MICROSECONDS, up to a second");
}

static enum strata_status read_lazy(struct strata_fault_rules *rules, const char *word, const char *value) {
    if (value && strcmp(value, "create") != 0)
        return fail_value(word, "it can be lazy or lazy=create");
    rules->lazy = value ? STRATA_FAULT_LAZY_CREATE : STRATA_FAULT_LAZY;
    return STRATA_OK;
}

static enum strata_status read_hold(struct strata_fault_rules *rules, const char *word, const char *value) {
    rules->hold = true;
    return value ? fail_value(word, "hold takes no value") : STRATA_OK;
}

/* The value of a word is NULL where it has none. */
static const struct word {
    const char *name;
    enum strata_status (*read)(struct strata_fault_rules *rules, const char *word, const char *value);
    bool bare;     /* may have no value */
    bool repeated; /* may stand there more than once */
} words[] = {
    {"fail", read_fail, false, true},    {"status", read_status, false, false}, {"thread", read_thread, false, false},
    {"above", read_above, false, false}, {"rate", read_rate, false, false},     {"seed", read_seed, false, false},
    {"lazy", read_lazy, true, false},    {"memory", read_memory, false, false}, {"largest", read_largest, false, false},
    {"slow", read_slow, false, false},   {"hold", read_hold, true, false},
};
#define WORD_COUNT (sizeof words / sizeof words[0])

static enum strata_status read_word(struct strata_fault_rules *rules, const char *word, unsigned *seen) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    for (unsigned i = 0; i < WORD_COUNT; i++) {
        if (strlen(words[i].name) != length || memcmp(words[i].name, word, length) != 0)
            continue;
        if (!equals && !words[i].bare)
            return fail_value(word, "it needs a value, as in 'fail=create:1' or 'memory=64MiB'");
        if ((*seen & 1u << i) && !words[i].repeated)
            return fail_value(word, "the word stands in the plan twice");
        *seen |= 1u << i;
        return words[i].read(rules, word, equals ? equals + 1 : NULL);
    }
    return fail_value(word, "a word is fail, status, thread, above, rate, seed, lazy, memory, largest, slow or hold, "
                            "and words are separated by commas");
}

enum strata_status strata_fault_parse(const char *plan, struct strata_fault_rules *rules) {
    *rules = (struct strata_fault_rules){
        .status = STRATA_OUT_OF_MEMORY, .rate_kind = STRATA_FAULT_ANY, .memory = UINT64_MAX, .largest = UINT64_MAX};
    enum strata_status status = STRATA_OK;
    unsigned seen = 0;
    for (const char *at = plan; *plan && status == STRATA_OK;) {
        char word[WORD_BYTES];
        size_t length = strcspn(at, ",");
        size_t kept = length < sizeof word ? length : sizeof word - 1;
        memcpy(word, at, kept);
        word[kept] = '\0';
        status = kept == length ? read_word(rules, word, &seen) : fail_value(word, "no word of a plan is so long");
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    if (status == STRATA_OK && rules->lazy != STRATA_FAULT_PROMPT && rules->memory == UINT64_MAX)
        status = fail_value("lazy", "without memory=BYTES nothing fails late");
    return status;
}
