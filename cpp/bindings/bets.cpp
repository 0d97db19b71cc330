#include "calibrant/bets.hpp"
#include "register.hpp"

#include <nanobind/stl/tuple.h>

#include <cstring>

namespace calibrant::bindings {

using namespace nb::literals;
using InOut = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// first row of an alarm, first row of a change (-1: none), largest evidence, contradicted
template <class Outcome>
std::tuple<std::ptrdiff_t, std::ptrdiff_t, double, bool> bet(
    InOut book, Input<double> edges, Input<double> sizes, Input<double> shares,
    Input<double> stakes, Input<double> prediction, Input<Outcome> outcome,
    Input<double> allowance, double rows_before, bool exact, double alarm_level,
    double change_level) {
    same_length(book.size(), sizeof(Book) / sizeof(double));
    same_length(edges.size(), betting_cells - 1);
    same_length(sizes.size(), bettors);
    same_length(shares.size(), bettors);
    same_length(stakes.size(), betting_cells * alternatives);
    same_length(prediction.size(), outcome.size());
    same_length(prediction.size(), allowance.size());
    const nb::gil_scoped_release unlocked;
    Book played;
    std::memcpy(&played, book.data(), sizeof(Book));
    const Rules rules{edges.data(), sizes.data(), shares.data(), stakes.data()};
    const Stream<Outcome> stream{prediction.data(), outcome.data(), allowance.data(),
                                 prediction.size(), rows_before,    exact,
                                 alarm_level,       change_level};
    const BettingResult result = Bettor(played, rules).play(stream);
    std::memcpy(book.data(), &played, sizeof(Book));
    return {result.alarm, result.change, result.peak, result.contradicted};
}

template <class Outcome>
void register_bet(nb::module_& m) {
    m.def("bet", &bet<Outcome>, "book"_a.noconvert(), "edges"_a.noconvert(),
          "sizes"_a.noconvert(), "shares"_a.noconvert(), "stakes"_a.noconvert(),
          "prediction"_a.noconvert(), "outcome"_a.noconvert(), "allowance"_a.noconvert(),
          "rows_before"_a.noconvert(), "exact"_a.noconvert(), "alarm_level"_a.noconvert(),
          "change_level"_a.noconvert());
}

void register_bets(nb::module_& m) {
    register_bet<std::uint8_t>(m);
    register_bet<double>(m);
}

}  // namespace calibrant::bindings
