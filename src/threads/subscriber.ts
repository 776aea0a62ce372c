// A session as a listener of threads: what it wants of each frame, in its form, and where its answers go.

import type { ApprovalBroker } from '../approvals/broker.ts';
import type { Session } from '../rpc/session.ts';
import type { Subscriber } from './cursor.ts';
import type { Frame } from './frame.ts';

/** One subscriber a session, so that subscribing twice is being subscribed once. */
export function createSubscribers(broker: ApprovalBroker): (session: Session) => Subscriber {
  const known = new WeakMap<Session, Subscriber>();
  return (session) => {
    let subscriber = known.get(session);
    if (!subscriber) {
      subscriber = createSubscriber(session, broker);
      known.set(session, subscriber);
    }
    return subscriber;
  };
}

function createSubscriber(session: Session, broker: ApprovalBroker): Subscriber {
  const { peer, principal } = session;
  const wants = (frame: Frame): boolean => {
    if (frame.call) return frame.call.to === session.id;
    if (frame.question === undefined) return session.wants(frame);
    return principal.permissions.has('approval:resolve');
  };
  return {
    id: session.id,
    principal,
    clientName: session.client.name,
    signal: session.signal,
    isFull: () => peer.outbox.isFull(),
    hasRoom: () => peer.outbox.hasRoom(),
    forget: (requestId) => peer.forget(requestId),
    send(frames) {
      const wanted = frames.filter(wants);
      for (const { question, call } of wanted) {
        if (call) {
          session.expect(call.requestId, (answer) => call.answered(answer));
          call.sent();
        }
        if (question) {
          broker.shown(question.approvalId, session.id, session.signal);
          session.expect(question.requestId, (answer) =>
            broker.answered(question.approvalId, answer, principal, session.id),
          );
        }
      }
      const mayRemember = principal.permissions.has('admin');
      const own = (frame: Frame): Frame => (mayRemember ? frame : (frame.question?.withoutRules ?? frame));
      if (wanted.length > 0) peer.sendFrames(wanted.map((frame) => own(frame).encoded(peer.echoesVersion)));
    },
  };
}
