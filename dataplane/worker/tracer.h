// Leads a packet through the tables as a worker would, and writes down each step.
//
// The executor is the workers' own, one action at a time; its ports are in
// memory and its counters thrown away; it rehearses (execute.h). So nothing of the switch changes and nothing is
// counted. Neither ports nor flows change meanwhile: it holds the engine's lock, then the flow table's.

#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "dataplane/trace.h"

struct rte_mempool;

namespace sluice {

class Engine;

// A frame from port in_port, at most 65,535 bytes. Any control thread. NOT_FOUND without that port,
// RESOURCE_EXHAUSTED without buffers, or if there would be too much to tell.
absl::StatusOr<TraceResult> Trace(Engine& engine, const FlowTable& flows, rte_mempool* pool, uint32_t in_port,
                                  std::span<const uint8_t> frame);

}  // namespace sluice
