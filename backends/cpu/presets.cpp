// SPDX-License-Identifier: MIT
// The presets on the CPU backend, compiled once for all of the project's own programs.
#include <epikv/cpu.hpp>

template epikv::result<epikv::any_evictor> epikv::make_evictor<epikv::cpu_backend>(
    const epikv::model_shape&, const epikv::any_score<epikv::cpu_backend>&,
    const epikv::any_policy<epikv::cpu_backend>&, epikv::cpu_backend,
    const epikv::evictor_options&) noexcept;
template epikv::result<epikv::any_evictor> epikv::make_evictor<epikv::cpu_backend>(
    std::string_view, const epikv::model_shape&, const epikv::option_list&,
    epikv::cpu_backend) noexcept;
