# The switch and its command line in one image, built as the README says:
#
#   docker build -t sluice .
#   docker run --cap-drop ALL --cap-add NET_ADMIN --cap-add NET_RAW --cap-add IPC_LOCK --device /dev/net/tun sluice
#
# BASE         Debian 12
# NIC_DRIVERS  further DPDK drivers, for ports on NICs: "librte-net-i40e23 librte-net-mlx5-23"
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY tools/install-deps tools/
RUN tools/install-deps build
COPY . .
RUN cmake --preset release && cmake --build --preset release --target sluiced sluicectl
# What the programs are linked with, as packages: what a later version links
# with is then in its image without a list to keep.
RUN mkdir /out \
    && strip -o /out/sluiced build/release/server/sluiced \
    && strip -o /out/sluicectl build/release/client/sluicectl \
    && ldd /out/sluiced /out/sluicectl | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | xargs realpath | xargs dpkg -S | sed 's/:.*//' | sort -u > /out/packages
# A process that is not root gets its capabilities from its program's file; the
# container's own list bounds them.
RUN apt-get install -y --no-install-recommends libcap2-bin && setcap cap_net_admin,cap_net_raw,cap_ipc_lock+ep /out/sluiced

FROM ${BASE}
ARG NIC_DRIVERS=""
RUN --mount=type=bind,from=build,source=/out/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends $(cat /packages) ${NIC_DRIVERS} \
       librte-mempool-ring23 librte-net-af-packet23 librte-net-af-xdp23 librte-net-memif23 librte-net-null23 librte-net-pcap23 \
       librte-net-ring23 librte-net-tap23 librte-net-vhost23 librte-net-virtio23 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb /var/log/* /var/cache/debconf/*-old \
    && groupadd --gid 10001 sluice \
    && useradd --uid 10001 --gid sluice --no-create-home --home-dir /run/sluice --shell /usr/sbin/nologin sluice \
    && install -d -o sluice -g sluice -m 0770 /run/sluice
COPY LICENSE /usr/share/doc/sluice/copyright
COPY --from=build /out/sluicectl /usr/bin/sluicectl
COPY --from=build /out/sluiced /usr/bin/sluiced
USER sluice
# Where EAL may write, of which it makes no use otherwise.
ENV XDG_RUNTIME_DIR=/run/sluice
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/sluiced"]
