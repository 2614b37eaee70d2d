import { connect } from "node:net";

/** Sends the text and closes its half of the connection at once, as `nc -N` does; gives all that comes back. */
export function askAndClose(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.setEncoding("latin1").on("data", (part: string) => {
      answer += part;
    });
    socket.on("end", () => {
      socket.destroy();
      resolve(answer);
    });
    socket.on("error", reject);
    socket.end(text);
  });
}
