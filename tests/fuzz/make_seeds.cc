// Writes what fuzzers begin with: frames, flows and requests that are right, from
// the generators of the random tests. The same files each time.
//
//   make_seeds FOLDER       one folder a fuzzer in it

#include <filesystem>
#include <fstream>
#include <iostream>

#include "client/flow_text.h"
#include "sluice/v1/flow_service.pb.h"
#include "sluice/v1/port_service.pb.h"
#include "sluice/v1/switch_service.pb.h"
#include "tests/support/random_packet.h"
#include "tests/unit/client/random_flow.h"

namespace sluice::fuzz {
namespace {

constexpr int kSeeds = 96;  // of a kind

class Folder {
 public:
  Folder(const std::filesystem::path& parent, const char* name) : path_(parent / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }

  void Add(const std::string& content) {
    std::ofstream out(path_ / ("seed" + std::to_string(count_++)), std::ios::binary);
    out << content;
    if (!out.flush()) throw std::runtime_error("cannot write to " + path_.string());
  }

 private:
  std::filesystem::path path_;
  int count_ = 0;
};

std::string TextOf(const Bytes& bytes) { return std::string(bytes.begin(), bytes.end()); }

Bytes SomeBytes(Random& random, size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

void WriteFrames(const std::filesystem::path& path) {
  Folder parse(path, "parse"), rewrite(path, "rewrite");
  Random random(1);
  for (int i = 0; i < kSeeds; ++i) {
    const std::string frame = TextOf(i % 4 == 3 ? RandomDamagedFrame(random) : RandomFrame(random));
    parse.Add(TextOf(SomeBytes(random, 4)) + frame);
    // Four actions, each with value and mask of 16 bytes, leave most of the frame whole for most fields.
    Bytes head = {3, 16, 255, 255};
    for (int k = 0; k < 4; ++k) {
      const Bytes action = {static_cast<uint8_t>(random()), static_cast<uint8_t>(random()), 0x12, 0x34};
      head.insert(head.end(), action.begin(), action.end());
    }
    rewrite.Add(TextOf(head) + frame);
  }
}

void WritePorts(Folder& convert) {
  std::vector<v1::PortSpec> ports(7);
  ports[0].mutable_tap()->set_interface("tap0");
  ports[1].mutable_interface()->set_interface("eth0");
  ports[2].mutable_pcap()->set_rx_file("/tmp/in.pcap");
  ports[3].mutable_null()->set_rx_frame_bytes(64);
  ports[4].mutable_ring();
  ports[5].mutable_pci()->set_address("0000:03:00.0");
  ports[6].set_devargs("net_memif0,role=server,socket=/run/m.sock");
  for (size_t i = 0; i < ports.size(); ++i) {
    v1::CreatePortRequest request;
    *request.mutable_port() = ports[i];
    request.mutable_port()->set_name("p" + std::to_string(i));
    request.mutable_port()->set_number(static_cast<uint32_t>(i));
    request.mutable_port()->set_mtu(1500);
    convert.Add('\3' + request.SerializeAsString());
  }
}

void WriteSettings(Folder& convert) {
  v1::UpdateSettingsRequest request;
  convert.Add('\4' + request.SerializeAsString());
  request.set_flow_cache_entries(1 << 20);
  request.set_pruning(false);
  request.set_equal_priority(v1::EQUAL_PRIORITY_ANY);
  request.set_mask_cache_entries(256);
  request.mutable_resort_period()->set_seconds(1);
  request.mutable_resort_period()->set_nanos(500'000'000);
  convert.Add('\4' + request.SerializeAsString());
}

void WritePolicies(const std::filesystem::path& path) {
  Folder text(path, "policy_text");
  for (const char* group : {
           "group_id=1,type=all,bucket=actions=output:1,bucket=set_field:02:00:00:00:00:01->eth_dst,output:2",
           "group_id=4294967040,type=select,selection_method=hash,fields(ip_src,tcp_dst),"
           "bucket=bucket_id:7,weight:10,watch_port:p1,actions=dec_ttl,output:p1,bucket=weight:0,actions=drop",
           "group_id=2,type=ff,bucket=watch_port:1,actions=output:1,bucket=watch_group:3,actions=group:3",
           "group_id=3,type=indirect,bucket=actions=push_vlan:0x8100,set_field:5->vlan_vid,controller(max_len=64)",
       }) {
    text.Add(std::string(1, '\0') + group);
  }
  for (const char* meter : {
           "meter=1,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=100",
           "meter=4294901760,kbps,band=type=dscp_remark,rate=5,prec_level=2,band=type=drop,rate=4294967295",
       }) {
    text.Add(std::string(1, '\1') + meter);
  }
}

void WriteFlows(const std::filesystem::path& path) {
  Folder text(path, "flow_text"), convert(path, "convert");
  client::RandomFlow flows(1);
  v1::BatchWriteRequest batch;
  for (int i = 0; i < kSeeds; ++i) {
    const v1::FlowSpec spec = flows.Next();
    text.Add(std::string(1, static_cast<char>(i % 8)) +
             (i % 4 == 3 ? client::FormatMatch(spec.match()) : client::FormatSpec(spec)));
    v1::CreateFlowRequest create;
    *create.mutable_flow() = spec;
    convert.Add('\0' + create.SerializeAsString());
    v1::ListFlowsRequest list;
    *list.mutable_filter()->mutable_match() = spec.match();
    list.mutable_filter()->set_priority(spec.priority());
    list.mutable_filter()->set_out_port(1);
    convert.Add('\2' + list.SerializeAsString());
    v1::UpdateFlowRequest* update = batch.add_items()->mutable_update();
    update->mutable_key()->mutable_identity()->set_priority(spec.priority());
    *update->mutable_key()->mutable_identity()->mutable_match() = spec.match();
    *update->mutable_actions() = spec.actions();
    *batch.add_items()->mutable_create() = create;
    batch.add_items()->mutable_delete_()->mutable_key()->set_id(i + 1);
    if (i % 4 != 3) continue;
    convert.Add('\1' + batch.SerializeAsString());
    batch.Clear();
  }
  WritePorts(convert);
  WriteSettings(convert);
}

}  // namespace
}  // namespace sluice::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "make_seeds FOLDER\n";
    return 2;
  }
  sluice::fuzz::WriteFrames(argv[1]);
  sluice::fuzz::WriteFlows(argv[1]);
  sluice::fuzz::WritePolicies(argv[1]);
  return 0;
}
