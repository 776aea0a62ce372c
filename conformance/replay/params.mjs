// With what a client calls each method that it is known to call; `at` has the ids of what is there to call it about.
export const PARAMS = {
  'account/bedrock/checkGovCloudRequirements': () => ({}),
  'account/login/cancel': () => ({ loginId: '019b0000-0000-7000-8000-000000000001' }),
  'account/login/start': () => ({ type: 'apiKey', apiKey: 'not-a-key' }),
  'account/logout': () => undefined,
  'account/rateLimits/read': () => undefined,
  'account/read': () => ({ refreshToken: false }),
  'app/installed': () => ({}),
  'app/list': () => ({}),
  'app/read': () => ({ appIds: ['none'] }),
  'collaborationMode/list': () => ({}),
  'command/exec': () => ({ command: ['git', 'status', '--short'] }),
  'config/batchWrite': () => ({
    edits: [{ keyPath: 'model_reasoning_effort', value: 'low', mergeStrategy: 'replace' }],
  }),
  'config/mcpServer/reload': () => undefined,
  'config/read': ({ workspace }) => ({ includeLayers: false, cwd: workspace }),
  'config/value/write': () => ({ keyPath: 'model_reasoning_effort', value: 'low', mergeStrategy: 'replace' }),
  'configRequirements/read': () => undefined,
  'environment/add': () => ({ environmentId: 'other', execServerUrl: 'ws://127.0.0.1:9' }),
  'experimentalFeature/enablement/set': () => ({ enablement: {} }),
  'experimentalFeature/list': () => ({}),
  'externalAgentConfig/import': () => ({ migrationItems: [] }),
  'feedback/upload': ({ threadId }) => ({ classification: 'bug', includeLogs: false, threadId }),
  fuzzyFileSearch: ({ workspace }) => ({ query: 'track', roots: [workspace], cancellationToken: null }),
  'hooks/list': ({ workspace }) => ({ cwds: [workspace] }),
  'marketplace/add': () => ({ source: 'none/none' }),
  'mcpServer/oauth/login': () => ({ name: 'demo' }),
  'mcpServer/resource/read': ({ threadId }) => ({ threadId, server: 'demo', uri: 'demo://hello' }),
  'mcpServer/tool/call': ({ threadId }) => ({ threadId, server: 'demo', tool: 'echo', arguments: { text: 'hi' } }),
  'mcpServerStatus/list': () => ({}),
  'model/list': () => ({}),
  'modelProvider/capabilities/read': () => ({}),
  'permissionProfile/list': ({ workspace }) => ({ cwd: workspace }),
  'plugin/install': () => ({ pluginName: 'none' }),
  'plugin/installed': ({ workspace }) => ({ cwds: [workspace] }),
  'plugin/list': ({ workspace }) => ({ cwds: [workspace] }),
  'plugin/read': () => ({ pluginName: 'none' }),
  'plugin/uninstall': () => ({ pluginId: 'none' }),
  'skills/config/write': () => ({ name: 'none', enabled: false }),
  'skills/extraRoots/set': ({ workspace }) => ({ extraRoots: [workspace] }),
  'skills/list': ({ workspace }) => ({ cwds: [workspace] }),
  'thread/backgroundTerminals/list': ({ threadId }) => ({ threadId }),
  'thread/backgroundTerminals/terminate': ({ threadId }) => ({ threadId, processId: '1' }),
  'thread/fork': ({ threadId }) => ({ threadId }),
  'thread/goal/clear': ({ threadId }) => ({ threadId }),
  'thread/goal/get': ({ threadId }) => ({ threadId }),
  'thread/goal/set': ({ threadId }) => ({ threadId, objective: 'x', status: 'paused' }),
  'thread/inject_items': ({ threadId }) => ({
    threadId,
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
  }),
  'thread/items/list': ({ threadId }) => ({ threadId }),
  'thread/list': () => ({}),
  'thread/loaded/list': () => ({}),
  'thread/name/set': ({ threadId }) => ({ threadId, name: 'A name' }),
  'thread/queue/add': ({ threadId }) => ({ threadId, input: [{ type: 'text', text: 'queued' }] }),
  'thread/read': ({ threadId }) => ({ threadId, includeTurns: true }),
  'thread/resume': ({ threadId }) => ({ threadId }),
  'thread/rollback': ({ threadId }) => ({ threadId, numTurns: 1 }),
  'thread/settings/update': ({ threadId }) => ({ threadId, effort: 'low' }),
  'thread/turns/list': ({ threadId }) => ({ threadId }),
  'thread/unsubscribe': ({ threadId }) => ({ threadId }),
  'thread/archive': ({ threadId }) => ({ threadId }),
  'thread/unarchive': ({ threadId }) => ({ threadId }),
  'thread/delete': ({ threadId }) => ({ threadId }),
};

/** What ends with a turn, and so is called by itself. */
export const WITH_TURNS = new Set([
  'initialize',
  'thread/start',
  'turn/start',
  'turn/steer',
  'turn/interrupt',
  'thread/compact/start',
  'review/start',
]);

/** What a thread does not outlive, in this order after everything else. */
export const LAST = ['thread/rollback', 'thread/unsubscribe', 'thread/archive', 'thread/unarchive', 'thread/delete'];

/** Methods whose answer is an error about the thing called, here as with the reference. */
export const REFUSED = { 'mcpServer/oauth/login': /./, 'account/rateLimits/read': /authentication|account/ };

/** How a person answers each kind of question. */
export const CONSENT = {
  'item/commandExecution/requestApproval': () => ({ decision: 'accept' }),
  'item/fileChange/requestApproval': () => ({ decision: 'accept' }),
  'item/permissions/requestApproval': ({ permissions }) => ({ permissions, scope: 'turn' }),
  'item/tool/requestUserInput': ({ questions }) => ({
    answers: Object.fromEntries(questions.map(({ id, options }) => [id, { answers: [options[0].label] }])),
  }),
  'item/tool/call': () => ({ success: true, contentItems: [{ type: 'inputText', text: 'it is open' }] }),
  'mcpServer/elicitation/request': () => ({ action: 'accept', content: { name: 'Somebody' }, _meta: null }),
};

/** The key word with which the model brings about each kind of question. */
export const BROUGHT_ABOUT_BY = {
  'item/commandExecution/requestApproval': 'KWESC',
  'item/fileChange/requestApproval': 'KWPATCH',
  'item/permissions/requestApproval': 'KWPERMIT',
  'item/tool/requestUserInput': 'KWASK',
  'item/tool/call': 'KWTOOL',
  'mcpServer/elicitation/request': 'KWELICIT',
};
