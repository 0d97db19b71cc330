#include "calibrant/almost_one_step.hpp"
#include "register.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace calibrant::bindings {

using namespace nb::literals;

// predictions, tallies, place
std::tuple<Output, std::vector<std::int64_t>, std::size_t> almost_one_step_ahead(
    std::vector<std::int64_t> tallies, std::size_t at, Input<std::uint8_t> outcome,
    bool midpoint) {
    if (tallies.size() < 2 || at >= tallies.size() - 1)
        throw std::invalid_argument("a grid has a step, and the place is on it");
    AlmostOneStep forecaster{std::move(tallies), at};
    Buffer<double> prediction = allocate<double>(outcome.size());
    {
        const nb::gil_scoped_release unlocked;
        forecaster.play(outcome.data(), outcome.size(), midpoint, prediction.get());
    }
    return {hand_over(std::move(prediction), outcome.size()), std::move(forecaster.tallies),
            forecaster.at};
}

void register_online(nb::module_& m) {
    m.def("almost_one_step_ahead", &almost_one_step_ahead, "tallies"_a, "at"_a.noconvert(),
          "outcome"_a.noconvert(), "midpoint"_a.noconvert());
}

}  // namespace calibrant::bindings
