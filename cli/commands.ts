import { accountCommand, balanceCommand, whoamiCommand } from './account.ts'
import { addressCommand, addressKind } from './address.ts'
import { auditCommand } from './audit.ts'
import { backupCommand } from './backup.ts'
import {
  capacityCommand,
  limitsCommand,
  presetCommand,
  templateCommand,
  templateKind,
  zoneCommand,
} from './catalogue.ts'
import { completionCommand } from './completion.ts'
import { eventCommand } from './event.ts'
import { firewallCommand, firewallKind } from './firewall.ts'
import { imageCommand } from './image.ts'
import { isoCommand } from './iso.ts'
import { contextCommand, loginCommand, logoutCommand } from './login.ts'
import { invitationCommand, invitationKind, memberCommand, memberKind } from './member.ts'
import { networkCommand, networkKind } from './network.ts'
import { operationCommand } from './operation.ts'
import { paymentMethodCommand, paymentMethodKind } from './payment-method.ts'
import { zoneKind } from './place.ts'
import { projectCommand, projectKind } from './project.ts'
import { quoteCommand } from './quote.ts'
import { imageKind } from './server/image-kind.ts'
import { isoKind } from './server/iso-kind.ts'
import { serverKind } from './server/kind.ts'
import { serverCommand } from './server/server.ts'
import { backupKind, snapshotKind } from './server/snapshot-kind.ts'
import { snapshotCommand } from './snapshot.ts'
import { sshKeyCommand, sshKeyKind } from './ssh-key.ts'
import { tokenCommand, tokenKind } from './token.ts'
import { transactionCommand } from './transaction.ts'
import { usageCommand } from './usage.ts'
import { volumeCommand, volumeKind } from './volume.ts'
import { webhookCommand, webhookKind } from './webhook.ts'

/** The commands in the order in which --help lists them. */
export const commands = [
  loginCommand,
  logoutCommand,
  contextCommand,
  whoamiCommand,
  balanceCommand,
  accountCommand,
  usageCommand,
  transactionCommand,
  serverCommand,
  addressCommand,
  networkCommand,
  firewallCommand,
  snapshotCommand,
  imageCommand,
  isoCommand,
  backupCommand,
  volumeCommand,
  operationCommand,
  quoteCommand,
  zoneCommand,
  templateCommand,
  presetCommand,
  limitsCommand,
  capacityCommand,
  projectCommand,
  paymentMethodCommand,
  sshKeyCommand,
  tokenCommand,
  memberCommand,
  invitationCommand,
  webhookCommand,
  eventCommand,
  auditCommand,
  completionCommand,
]

/** The kinds whose names completion offers. */
export const kinds = [
  serverKind,
  addressKind,
  networkKind,
  firewallKind,
  snapshotKind,
  imageKind,
  isoKind,
  backupKind,
  volumeKind,
  zoneKind,
  templateKind,
  projectKind,
  paymentMethodKind,
  sshKeyKind,
  tokenKind,
  memberKind,
  invitationKind,
  webhookKind,
]
