// Which schema of the reference belongs to which message of ours, and in which direction the two must fit.
import fs from 'node:fs';
import path from 'node:path';
import { resultFile } from '../kit/validate.mjs';

/**
 * For each message that both know: `what` it is, and the schema that must allow no more (`narrow`) than the other (`wide`).
 * What clients send: all that the reference takes, we take. What the server sends: all that we send, the reference may send.
 */
export function pairs(ours, folder) {
  const read = (file) => JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'));
  const variants = (file) => {
    const root = read(file);
    return new Map(root.oneOf.map((variant) => [variant.properties.method.enum[0], { variant, root }]));
  };
  const own = (name) => ({ schema: ours.definitions[name], root: ours });
  const whole = (file) => {
    const root = read(file);
    return { schema: root, root };
  };
  const paramsOf = ({ variant, root }) => ({ schema: variant.properties.params ?? true, root });
  const taken = (what, theirs, name) => ({ what, side: 'accepts', narrow: theirs, wide: own(name) });
  const sent = (what, name, theirs) => ({ what, side: 'sends', narrow: own(name), wide: theirs });

  const asked = variants('ClientRequest.json');
  const questions = variants('ServerRequest.json');
  const news = variants('ServerNotification.json');
  const { requests, serverRequests, notifications } = ours.messages;
  const both = (list, table) => list.filter(({ method }) => table.has(method));
  const response = ({ variant }) =>
    `${variant.properties.params.$ref
      .split('/')
      .pop()
      .replace(/Params$/, '')}Response.json`;
  return [
    ...both(requests, asked).flatMap(({ method, params, result }) => {
      const file = resultFile(folder, method, asked.get(method).variant);
      return [
        taken(`params of ${method}`, paramsOf(asked.get(method)), params),
        ...(file ? [sent(`result of ${method}`, result, whole(file))] : []),
      ];
    }),
    ...both(serverRequests, questions).flatMap(({ method, params, result }) => [
      sent(`params of ${method}`, params, paramsOf(questions.get(method))),
      taken(`answer to ${method}`, whole(response(questions.get(method))), result),
    ]),
    ...both(notifications, news).map(({ method, params }) =>
      sent(`params of ${method}`, params, paramsOf(news.get(method))),
    ),
  ];
}

/** Messages that we send although the reference does not know them. */
export function ownMessages(ours, folder) {
  const known = (file) => {
    const { oneOf } = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'));
    return new Set(oneOf.map(({ properties }) => properties.method.enum[0]));
  };
  const unknown = (list, file) => list.map(({ method }) => method).filter((method) => !known(file).has(method));
  return [
    ...unknown(ours.messages.serverRequests, 'ServerRequest.json'),
    ...unknown(ours.messages.notifications, 'ServerNotification.json'),
  ];
}
