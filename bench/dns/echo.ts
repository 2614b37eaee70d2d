import { createSocket } from "node:dgram";

/** The least a DNS server in this runtime can do: send every query back as a reply. Also the upstream of the forwarding figures. */
const [host = "127.0.0.1"] = process.argv.slice(2);
const socket = createSocket("udp4");
socket.on("message", (message, peer) => {
  message[2] = (message[2] ?? 0) | 0x80;
  socket.send(message, peer.port, peer.address);
});
socket.bind(0, host, () => process.send?.({ port: socket.address().port }));
