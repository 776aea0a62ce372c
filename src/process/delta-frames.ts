// Output of a process as ready frames: base64 is joined into them as bytes and never goes through a JSON encoder.

import type { Clock } from '../base/clock.ts';
import type { Notification } from '../rpc/declare.ts';
import type { Session } from '../rpc/session.ts';
import type { OnPiece } from './capture.ts';

/**
 * Sends each piece of a stream to one connection. `names` are the members that say whose output it is. While more waits for the
 * connection than its outbox holds, a promise stands, so that the process is slowed down and nobody else.
 */
export function deltaSender(
  session: Session,
  notification: Notification,
  names: Readonly<Record<string, string>>,
  clock: Clock,
): OnPiece {
  const { peer } = session;
  const version = peer.echoesVersion ? '"jsonrpc":"2.0",' : '';
  const members = JSON.stringify(names).slice(1, -1);
  const head = Buffer.from(`{${version}"method":"${notification.method}","params":{${members},"deltaBase64":"`);
  return (piece, capReached) => {
    if (!session.wants(notification)) return undefined;
    peer.sendFrames([frameOf(head, piece, `","capReached":${capReached}},"emittedAtMs":${clock.now()}}`)]);
    return peer.outbox.isFull() ? peer.outbox.hasRoom() : undefined;
  };
}

function frameOf(head: Buffer, piece: Buffer, tail: string): Buffer {
  const base64 = piece.toString('base64');
  const frame = Buffer.allocUnsafe(head.length + base64.length + tail.length);
  head.copy(frame);
  frame.write(base64, head.length, 'latin1');
  frame.write(tail, head.length + base64.length, 'latin1');
  return frame;
}
