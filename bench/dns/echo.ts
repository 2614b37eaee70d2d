import { createSocket } from "node:dgram";

/**
 * The least a DNS server in this runtime can do: send every query back as a reply. Also the upstream of the forwarding figures. With a
 * second argument replies are that much longer, as those of the server are; socket options are the server's too. A third one is the
 * port, any free one when absent.
 */
const [host = "127.0.0.1", longer = "0", port = "0"] = process.argv.slice(2);
const tail = Buffer.alloc(Number(longer));
const out = Buffer.alloc(65_535);
const socket = createSocket({
  type: "udp4",
  recvBufferSize: 1 << 20,
  lookup: (address, _options, found) => found(null, address, 4),
});
socket.on("message", (message, peer) => {
  message[2] = (message[2] ?? 0) | 0x80;
  if (tail.length === 0) return socket.send(message, peer.port, peer.address);
  message.copy(out);
  socket.send(out, 0, message.length + tail.length, peer.port, peer.address);
});
socket.bind(Number(port), host, () => process.send?.({ port: socket.address().port }));
