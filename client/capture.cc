#include "client/capture.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"

namespace sluice::client {
namespace {

constexpr int kSnapLength = 65535;

struct Close {
  void operator()(pcap_t* p) const { pcap_close(p); }
  void operator()(pcap_dumper_t* d) const { pcap_dump_close(d); }
};
using Reader = std::unique_ptr<pcap_t, Close>;
using Writer = std::unique_ptr<pcap_dumper_t, Close>;

std::string LinkTypeName(int type) {
  const char* name = pcap_datalink_val_to_name(type);
  const char* description = pcap_datalink_val_to_description(type);
  if (name == nullptr || description == nullptr) return absl::StrCat("number ", type);
  return absl::StrCat(description, " (", name, ")");
}

// Calls visit for every frame of the file.
absl::Status ReadFrames(const std::string& path, const std::function<void(const pcap_pkthdr*, const u_char*)>& visit) {
  char error[PCAP_ERRBUF_SIZE] = "";
  const Reader reader(pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error));
  if (reader == nullptr) {
    const absl::string_view why = error;
    const std::string prefix = absl::StrCat(path, ": ");
    return absl::InvalidArgumentError(absl::StrCat(prefix, why.substr(why.find(prefix) == 0 ? prefix.size() : 0)));
  }
  if (const int type = pcap_datalink(reader.get()); type != DLT_EN10MB) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its link type is ", LinkTypeName(type), "; only Ethernet can be replayed"));
  }
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  uint64_t frames = 0;
  int result = 0;
  while ((result = pcap_next_ex(reader.get(), &header, &data)) == 1) {
    ++frames;
    if (header->caplen > kMaxFrameBytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": frame ", frames, " has ", header->caplen,
                                                     " bytes; at most ", kMaxFrameBytes, " can be replayed"));
    }
    visit(header, data);
  }
  if (result == PCAP_ERROR_BREAK) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": frame ", frames + 1, ": ", pcap_geterr(reader.get())));
}

}  // namespace

absl::StatusOr<CaptureInfo> ReadCapture(const std::string& path) {
  CaptureInfo info;
  const absl::Status status = ReadFrames(path, [&](const pcap_pkthdr* header, const u_char*) {
    ++info.frames;
    info.longest = std::max(info.longest, header->caplen);
  });
  if (!status.ok()) return status;
  return info;
}

absl::StatusOr<std::vector<std::string>> ReadCaptureFrames(const std::string& path) {
  std::vector<std::string> frames;
  const absl::Status status = ReadFrames(path, [&](const pcap_pkthdr* header, const u_char* data) {
    frames.emplace_back(reinterpret_cast<const char*>(data), header->caplen);
  });
  if (!status.ok()) return status;
  return frames;
}

absl::Status JoinCaptures(const std::vector<std::string>& parts, const std::string& out) {
  const Reader form(pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapLength, PCAP_TSTAMP_PRECISION_NANO));
  const Writer writer(pcap_dump_open(form.get(), out.c_str()));
  if (writer == nullptr) return absl::FailedPreconditionError(absl::StrCat(out, ": ", pcap_geterr(form.get())));
  for (const std::string& part : parts) {
    const absl::Status status = ReadFrames(part, [&](const pcap_pkthdr* header, const u_char* data) {
      pcap_dump(reinterpret_cast<u_char*>(writer.get()), header, data);
    });
    if (!status.ok()) return status;
  }
  if (pcap_dump_flush(writer.get()) != 0) return absl::DataLossError(absl::StrCat(out, ": cannot be written"));
  return absl::OkStatus();
}

}  // namespace sluice::client
