#include "server/config.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/listen_address.h"
#include "server/quote.h"
#include "server/yaml_document.h"
#include "server/yaml_section.h"

namespace sluice {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
// Ranges: what DPDK's types hold, or what no machine of these days exceeds.
constexpr uint64_t kMaxWorkers = 128;
constexpr uint64_t kMaxCpu = 1023;
constexpr uint64_t kMaxBurst = 32;
constexpr uint64_t kMaxMegabytes = 1 << 20;
constexpr uint64_t kMinBuffers = 512;
constexpr uint64_t kMaxBuffers = 1 << 24;
constexpr uint64_t kMinBufferBytes = 128;
constexpr uint64_t kMaxBufferBytes = 65535 - 128;  // with DPDK's headroom, in 16 bits
constexpr uint64_t kMaxFlows = 100'000'000;
constexpr uint64_t kMaxMasks = 8192;  // ListMasks has no pages
constexpr uint64_t kMaxActions = 1024;
// So many results, each with counters, still make a reply below gRPC's 4 MiB.
constexpr uint64_t kMaxBatchItems = 50'000;
constexpr uint64_t kMaxWatchers = 10'000;
constexpr uint64_t kMaxWatchEvents = 10'000'000;
constexpr uint64_t kMaxGroups = 65536;
constexpr uint64_t kMaxBuckets = 1024;
// A client's queue of the longest packets is 65 MB for each thousand.
constexpr uint64_t kMaxPacketClients = 1024;
constexpr uint64_t kMaxPacketRate = 1'000'000;
constexpr uint64_t kMaxPacketQueue = 65'536;
constexpr uint64_t kMaxNullFrame = 65535;

void ReadApi(YamlSection section, ServerConfig& out) {
  std::vector<YAML::Mark> marks;
  section.TextList("listen", out.api_listen, &marks);
  if (section.Has("listen") && out.api_listen.empty()) {
    section.Fail("listen", "api.listen is an empty list; one address at least would be right");
  }
  std::set<std::string> seen;
  for (size_t i = 0; i < marks.size(); ++i) {
    const auto address = ParseListenAddress(out.api_listen[i]);
    if (!address.ok()) {
      section.FailAt(marks[i], address.status().message());
    } else if (!seen.insert(address->ToString()).second) {
      section.FailAt(marks[i], absl::StrCat(Quoted(out.api_listen[i]), " stands twice; once would be right"));
    }
  }
  section.End();
}

void ReadMetrics(YamlSection section, ServerConfig& out) {
  section.Text("listen", out.metrics_listen);
  if (section.Has("listen")) {
    const absl::Status status = CheckMetricsAddress(out.metrics_listen);
    if (!status.ok()) section.Fail("listen", status.message());
  }
  section.End();
}

void ReadLog(YamlSection section, ServerConfig& out) {
  section.Choice("level",
                 {{"debug", LogLevel::kDebug},
                  {"info", LogLevel::kInfo},
                  {"warning", LogLevel::kWarning},
                  {"error", LogLevel::kError}},
                 out.log_level);
  section.Choice("format", {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}, out.log_format);
  section.End();
}

void ReadWorkers(YamlSection section, DataplaneConfig& out) {
  section.Number("count", out.worker_count, 1, kMaxWorkers);
  section.NumberList("cpus", out.worker_cpus, kMaxCpu);
  section.Choice("idle", {{"adaptive", IdleMode::kAdaptive}, {"poll", IdleMode::kPoll}}, out.idle);
  section.Number("rx_burst", out.rx_burst, 1, kMaxBurst);
  section.Number("flow_cache_entries", out.flow_cache_entries, 0, kMaxFlowCacheEntries);
  section.End();
  if (std::set<unsigned>(out.worker_cpus.begin(), out.worker_cpus.end()).size() != out.worker_cpus.size()) {
    section.Fail("cpus", "workers.cpus names a CPU twice; one worker a CPU would be right");
  }
  if (out.worker_cpus.empty()) return;
  if (section.Has("count") && out.worker_count != out.worker_cpus.size()) {
    section.Fail("count", absl::StrCat("workers.count is ", out.worker_count, " and workers.cpus names ",
                                       out.worker_cpus.size(), "; the same, or only one of the two, would be right"));
  }
  out.worker_count = static_cast<unsigned>(out.worker_cpus.size());
}

void ReadMemory(YamlSection section, DataplaneConfig& out) {
  section.Choice("huge_pages",
                 {{"never", HugePages::kNever}, {"auto", HugePages::kAuto}, {"demand", HugePages::kDemand}},
                 out.huge_pages);
  section.Number("megabytes", out.memory_mb, 0, kMaxMegabytes);
  section.Number("packet_buffers", out.packet_buffers, kMinBuffers, kMaxBuffers);
  section.Number("packet_buffer_bytes", out.packet_buffer_bytes, kMinBufferBytes, kMaxBufferBytes);
  section.End();
}

void ReadEal(YamlSection section, DataplaneConfig& out) {
  section.Bool("pci", out.use_pci);
  section.TextList("args", out.eal_args);
  section.End();
}

void ReadClassifier(YamlSection section, ClassifierOptions& out) {
  section.Bool("pruning", out.pruning);
  section.Choice("equal_priority", {{"oldest", EqualPriority::kOldest}, {"any", EqualPriority::kAny}},
                 out.equal_priority);
  section.Number("mask_cache_entries", out.mask_cache_entries, 0, kMaxMaskCacheEntries);
  int64_t resort_seconds = absl::ToInt64Seconds(out.resort_period);
  section.Number("resort_seconds", resort_seconds, 0, kMaxResortSeconds);
  out.resort_period = absl::Seconds(resort_seconds);
  section.End();
}

void ReadMacLearning(YamlSection section, MacTableOptions& out) {
  section.Number("entries", out.entries, 1, kMaxMacEntries);
  section.Number("age_seconds", out.age_seconds, 1, kMaxMacAgeSeconds);
  section.End();
}

void ReadLimits(YamlSection section, ServerConfig& out) {
  section.Number("flows", out.dataplane.limits.max_flows, 1, kMaxFlows);
  section.Number("masks_per_table", out.dataplane.limits.max_masks_per_table, 1, kMaxMasks);
  section.Number("actions_per_flow", out.limits.actions_per_flow, 1, kMaxActions);
  section.Number("groups", out.dataplane.max_groups, 1, kMaxGroups);
  section.Number("buckets_per_group", out.limits.buckets_per_group, 1, kMaxBuckets);
  section.Number("meters", out.dataplane.max_meters, 1, kMaxMeterId);
  section.Number("batch_items", out.limits.batch_items, 1, kMaxBatchItems);
  section.Number("watchers", out.limits.watchers, 0, kMaxWatchers);
  section.Number("watch_events", out.dataplane.limits.kept_events, 1, kMaxWatchEvents);
  section.Number("packet_in_clients", out.limits.packet_in_clients, 1, kMaxPacketClients);
  section.Number("packet_ins_per_second", out.limits.packet_ins_per_second, 1, kMaxPacketRate);
  section.Number("packet_in_queue", out.limits.packet_in_queue, 1, kMaxPacketQueue);
  section.Number("packet_outs_per_second", out.limits.packet_outs_per_second, 1, kMaxPacketRate);
  section.Number("packet_out_queue", out.limits.packet_out_queue, 1, kMaxPacketQueue);
  section.Number("captures", out.limits.captures, 0, Dataplane::kMaxCaptures);
  section.End();
}

// Each reads the device that the port has under its name.
PortDevice ReadTap(YamlSection& port) {
  TapDevice device;
  YamlSection section = port.Section("tap");
  section.Text("interface", device.interface);
  section.End();
  return device;
}

PortDevice ReadInterface(YamlSection& port) {
  InterfaceDevice device;
  YamlSection section = port.Section("interface");
  section.Text("interface", device.interface);
  section.End();
  return device;
}

PortDevice ReadPcap(YamlSection& port) {
  PcapDevice device;
  YamlSection section = port.Section("pcap");
  section.Text("rx_file", device.rx_file);
  section.Text("tx_file", device.tx_file);
  section.Bool("infinite_rx", device.infinite_rx);
  section.End();
  return device;
}

PortDevice ReadNull(YamlSection& port) {
  NullDevice device;
  YamlSection section = port.Section("null");
  section.Number("rx_frame_bytes", device.rx_frame_bytes, 0, kMaxNullFrame);
  section.End();
  return device;
}

PortDevice ReadRing(YamlSection& port) {
  port.Section("ring").End();
  return RingDevice{};
}

PortDevice ReadPci(YamlSection& port) {
  PciDevice device;
  YamlSection section = port.Section("pci");
  section.Text("address", device.address);
  section.End();
  return device;
}

PortDevice ReadDevargs(YamlSection& port) {
  DevargsDevice device;
  port.Text("devargs", device.devargs);
  return device;
}

struct DeviceReader {
  const char* key;
  PortDevice (*read)(YamlSection& port);
};
constexpr DeviceReader kDevices[] = {{"tap", ReadTap},        {"interface", ReadInterface}, {"pcap", ReadPcap},
                                     {"null", ReadNull},      {"ring", ReadRing},           {"pci", ReadPci},
                                     {"devargs", ReadDevargs}};

// The key of the device, or null if there is not exactly one.
const char* ReadDevice(YamlSection& port, PortDevice& out) {
  const char* chosen = nullptr;
  for (const DeviceReader& device : kDevices) {
    const bool has = port.Has(device.key);
    PortDevice read = device.read(port);
    if (!has) continue;
    if (chosen != nullptr) {
      port.Fail(device.key,
                absl::StrCat(port.name(), " has both ", chosen, " and ", device.key, "; one device would be right"));
      return nullptr;
    }
    chosen = device.key;
    out = std::move(read);
  }
  if (chosen == nullptr) {
    port.Fail("", absl::StrCat(port.name(),
                               " has no device; one of tap, interface, pcap, null, ring, pci, devargs would be right"));
  }
  return chosen;
}

PortConfig ReadPort(YamlSection& port) {
  PortConfig config;
  port.Text("name", config.name);
  port.Number("number", config.number, 1, kMaxPortNumber);
  const char* device = ReadDevice(port, config.device);
  port.Number("mtu", config.mtu, kMinMtu, kMaxMtu);
  port.Number("rx_queues", config.rx_queues, 0, kMaxRxQueues);
  port.Bool("enabled", config.enabled);
  port.Bool("receive", config.receive);
  port.End();
  const std::string wrong_name = CheckPortName(config.name);
  if (!port.Has("name")) {
    port.Fail("", absl::StrCat(port.name(), " has no name; name: p1 would be right"));
  } else if (!wrong_name.empty()) {
    port.Fail("name", wrong_name);
  } else if (device != nullptr) {
    const auto devargs = DevargsOf(config, 0);
    if (!devargs.ok()) port.Fail(device, devargs.status().message());
  }
  return config;
}

void ReadPorts(YamlSection& root, std::vector<PortConfig>& out) {
  std::set<std::string> names;
  std::map<uint32_t, std::string> numbers;
  std::vector<YamlSection> ports = root.Sections("ports");
  if (ports.size() > Dataplane::kMaxPorts) {
    root.Fail("ports", absl::StrCat(ports.size(), " ports; at most ", Dataplane::kMaxPorts, " would be right"));
    return;
  }
  for (YamlSection& port : ports) {
    PortConfig config = ReadPort(port);
    if (!names.insert(config.name).second) {
      port.Fail("name",
                absl::StrCat("a second port has the name ", Quoted(config.name), "; each its own would be right"));
    }
    if (config.number != 0) {
      const auto [other, is_new] = numbers.try_emplace(config.number, config.name);
      if (!is_new) {
        port.Fail("number", absl::StrCat("port ", Quoted(other->second), " has the number ", config.number,
                                         " already; each its own would be right"));
      }
    }
    out.push_back(std::move(config));
  }
}

void ReadRoot(YamlSection root, ServerConfig& out) {
  ReadApi(root.Section("api"), out);
  ReadMetrics(root.Section("metrics"), out);
  ReadLog(root.Section("log"), out);
  ReadWorkers(root.Section("workers"), out.dataplane);
  ReadMemory(root.Section("memory"), out.dataplane);
  ReadEal(root.Section("eal"), out.dataplane);
  ReadClassifier(root.Section("classifier"), out.dataplane.classifier);
  ReadMacLearning(root.Section("mac_learning"), out.dataplane.macs);
  ReadLimits(root.Section("limits"), out);
  ReadPorts(root, out.ports);
  root.End();
}

}  // namespace

absl::Status CheckMetricsAddress(absl::string_view address) {
  const auto parsed = ParseListenAddress(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->is_unix()) {
    return absl::InvalidArgumentError(absl::StrCat("metrics cannot listen on ", parsed->ToString(),
                                                   ": Prometheus scrapes TCP; 127.0.0.1:9460 "
                                                   "would be right"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ServerConfig> ParseConfig(const std::string& text, const std::string& file) {
  YamlErrors errors(file);
  ServerConfig config;
  if (text.size() > kMaxFileBytes) {
    errors.Add(YAML::Mark(), absl::StrCat("the file is too long; at most ", kMaxFileBytes, " bytes would be right"));
    return errors.status();
  }
  try {
    ReadRoot(YamlSection(errors, LoadDocument(text, errors), ""), config);
  } catch (const YAML::Exception& e) {
    errors.Add(e.mark, absl::StrCat("not YAML: ", e.msg, "; key: value lines with equal indents would be right"));
  } catch (const std::exception& e) {
    errors.Add(YAML::Mark(), absl::StrCat("cannot be read as YAML: ", e.what()));
  }
  const absl::Status status = errors.status();
  if (!status.ok()) return status;
  return config;
}

absl::StatusOr<ServerConfig> LoadConfig(const std::string& path) {
  std::string text(kMaxFileBytes + 1, '\0');
  errno = 0;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file != nullptr) text.resize(std::fread(text.data(), 1, text.size(), file));
  const bool failed = file == nullptr || std::ferror(file) != 0;
  const int error = errno;
  if (file != nullptr) std::fclose(file);
  if (failed) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read: ", std::generic_category().message(error)));
  }
  return ParseConfig(text, path);
}

}  // namespace sluice
