// RMM's benchmark of random allocations as a list of events; in C++, for its numbers come from the C++ library.
#include "random_allocations.h"

#include <cstdlib>
#include <random>
#include <vector>

namespace {

struct walk {
    std::default_random_engine engine;
    std::vector<std::uint64_t> live;
    std::vector<random_event> events;
    std::uint64_t bytes = 0;
    std::size_t allocated = 0;

    void allocate(std::uint64_t size) {
        live.push_back(size);
        events.push_back({size, live.size() - 1});
        bytes += size;
        allocated++;
    }

    void free_one(std::size_t count) {
        std::uniform_int_distribution<std::size_t> index(0, count - 1);
        std::size_t place = index(engine) % live.size();
        bytes -= live[place];
        live[place] = live.back();
        live.pop_back();
        events.push_back({0, place});
    }
};

} // namespace

extern "C" size_t random_allocations(size_t count, size_t most, uint64_t cap, struct random_event **events) {
    walk w;
    std::uniform_int_distribution<std::size_t> sizes(1, most << 20);
    std::uniform_int_distribution<int> choice(0, 99);
    for (std::size_t i = 0; i < 2 * count; i++) {
        std::uint64_t size = sizes(w.engine);
        int drawn = w.live.empty() ? 0 : choice(w.engine);
        bool wanted = drawn < 73 && w.allocated < count && w.bytes + size < cap;
        if (w.live.empty() || wanted)
            w.allocate(size);
        else
            w.free_one(count);
    }
    *events = static_cast<random_event *>(std::malloc(w.events.size() * sizeof(random_event)));
    if (*events == nullptr)
        return 0;
    for (std::size_t i = 0; i < w.events.size(); i++)
        (*events)[i] = w.events[i];
    return w.events.size();
}
