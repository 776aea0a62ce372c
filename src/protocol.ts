// Every declared message of the protocol as a value; what is made from all of them, such as the schema, begins here.

import { accountLoginCompleted, accountMethods, accountUpdated } from './account/methods.ts';
import { modelMethods } from './agent/methods.ts';
import { approvalMethods, permissionProfileMethods, policyMethods } from './approvals/methods.ts';
import {
  commandApproval,
  elicitationRequest,
  fileChangeApproval,
  permissionsApproval,
  serverRequestResolved,
  userInputRequest,
} from './approvals/requests.ts';
import { catalogueMethods } from './config/catalogue-methods.ts';
import { configMethods, configWarning } from './config/methods.ts';
import { environmentMethods } from './fs/environment-methods.ts';
import { fsMethods } from './fs/methods.ts';
import {
  searchMethods as fileSearchMethods,
  fuzzyFileSearchSessionCompleted,
  fuzzyFileSearchSessionUpdated,
} from './fs/search-methods.ts';
import { fsChanged, watchMethods } from './fs/watch-methods.ts';
import { capabilityMethods, handshakeMethods, initialized } from './handshake/methods.ts';
import { mcpMethods, mcpServerOauthLoginCompleted, mcpServerStatusUpdated } from './mcp/methods.ts';
import {
  commandOutputDelta as commandExecOutputDelta,
  commandMethods,
  processExited,
  processMethods,
  processOutputDelta,
} from './process/methods.ts';
import { skillsChanged, skillsMethods } from './skills/methods.ts';
import { attachmentMethods } from './threads/attachment-methods.ts';
import { clientToolCall } from './threads/client-tool-methods.ts';
import { compactionMethods } from './threads/compaction-methods.ts';
import { forkMethods } from './threads/fork-methods.ts';
import { goalMethods } from './threads/goal-methods.ts';
import { historyMethods } from './threads/history-methods.ts';
import { lifeMethods } from './threads/life-methods.ts';
import { listMethods } from './threads/list-methods.ts';
import { metadataMethods } from './threads/metadata-methods.ts';
import { threadNotifications } from './threads/notifications.ts';
import { queueMethods } from './threads/queue-methods.ts';
import { reviewMethods } from './threads/review-methods.ts';
import { searchMethods as threadSearchMethods } from './threads/search-methods.ts';
import { sectionMethods } from './threads/section-methods.ts';
import { shellMethods } from './threads/shell-methods.ts';
import { terminalMethods } from './threads/terminal-methods.ts';
import { threadMethods } from './threads/thread-methods.ts';
import { turnMethods } from './threads/turn-methods.ts';

/** What clients may ask of the server. */
export const requests = {
  ...handshakeMethods,
  ...capabilityMethods,
  ...threadMethods,
  ...lifeMethods,
  ...historyMethods,
  ...metadataMethods,
  ...forkMethods,
  ...goalMethods,
  ...sectionMethods,
  ...attachmentMethods,
  ...queueMethods,
  ...listMethods,
  ...threadSearchMethods,
  ...turnMethods,
  ...shellMethods,
  ...compactionMethods,
  ...reviewMethods,
  ...terminalMethods,
  ...configMethods,
  ...catalogueMethods,
  ...accountMethods,
  ...permissionProfileMethods,
  ...approvalMethods,
  ...policyMethods,
  ...commandMethods,
  ...processMethods,
  ...fsMethods,
  ...watchMethods,
  ...fileSearchMethods,
  ...environmentMethods,
  ...mcpMethods,
  ...skillsMethods,
  ...modelMethods,
};

/** What the server tells clients. */
export const notifications = {
  ...threadNotifications,
  serverRequestResolved,
  configWarning,
  accountLoginCompleted,
  accountUpdated,
  commandExecOutputDelta,
  processOutputDelta,
  processExited,
  fsChanged,
  mcpServerStatusUpdated,
  mcpServerOauthLoginCompleted,
  skillsChanged,
  fuzzyFileSearchSessionUpdated,
  fuzzyFileSearchSessionCompleted,
};

/** What the server asks of clients. */
export const serverRequests = {
  commandApproval,
  fileChangeApproval,
  permissionsApproval,
  userInputRequest,
  elicitationRequest,
  clientToolCall,
};

/** What clients tell the server. */
export const clientNotifications = { initialized };
