#pragma once

#include "arrays.hpp"

namespace calibrant::bindings {

void register_rows(nb::module_& m);
void register_laws(nb::module_& m);
void register_bets(nb::module_& m);
void register_decisions(nb::module_& m);
void register_online(nb::module_& m);

}  // namespace calibrant::bindings
