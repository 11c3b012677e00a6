// Asks a gRPC health service as the kubelet's probe does: node health.mjs ADDRESS
// Exit code 0 if it is SERVING.
import { connect } from 'node:http2';

const session = connect(`http://${process.argv[2]}`);
session.on('error', (e) => { console.error(e.message); process.exit(1); });
const call = session.request({ ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc', te: 'trailers' });
const chunks = [];
let status;
call.on('response', (headers) => { status = headers['grpc-status']; });
call.on('trailers', (trailers) => { status = trailers['grpc-status']; });
call.on('data', (chunk) => chunks.push(chunk));
call.on('end', () => {
  // A frame is a zero byte, a length of four, and the message: field 1 = SERVING.
  const reply = Buffer.concat(chunks).toString('hex');
  console.log(`grpc-status ${status}, reply ${reply}`);
  process.exit(status === '0' && reply === '00000000020801' ? 0 : 1);
});
// An empty request means the server as a whole.
call.end(Buffer.alloc(5));
