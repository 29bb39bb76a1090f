import type { Operation, Server } from '@berth/sdk'
import { Status, type Tone } from '../ui/status.tsx'
import { useServersText } from './text.ts'

const tones: Record<Server['status'], Tone> = {
  creating: 'busy',
  running: 'good',
  stopped: 'off',
  starting: 'busy',
  stopping: 'busy',
  rebooting: 'busy',
  resizing: 'busy',
  rebuilding: 'busy',
  resetting_password: 'busy',
  restoring: 'busy',
  rescuing: 'busy',
  unrescuing: 'busy',
  suspended: 'warn',
  error: 'bad',
  deleting: 'busy',
}

export function ServerStatus({ status }: { status: Server['status'] }) {
  const t = useServersText()
  return <Status tone={tones[status]}>{t.statuses[status]}</Status>
}

const outcomes: Record<Operation['status'], Tone> = {
  pending: 'busy',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  canceled: 'off',
}

export function OperationStatus({ status }: { status: Operation['status'] }) {
  const t = useServersText()
  return <Status tone={outcomes[status]}>{t.outcomes[status]}</Status>
}
