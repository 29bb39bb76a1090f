import type { Delivery, Webhook } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { Empty, Loaded } from '../ui/states.tsx'
import { Status, type Tone } from '../ui/status.tsx'
import { Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { deliveriesQuery } from './queries.ts'
import { useAccountText } from './text.ts'

const tones: Record<Delivery['status'], Tone> = { pending: 'busy', succeeded: 'good', failed: 'bad' }

/** The latest deliveries, with the endpoint's replies. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const t = useAccountText()
  const query = useQuery(deliveriesQuery(webhook.webhook_id))
  const resultOf = ({ attempts }: Delivery) => {
    const last = attempts.at(-1)
    return last?.error ?? last?.reply_status ?? ''
  }
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title={t.noDeliveries} />
        ) : (
          <Table
            label={t.deliveries}
            rows={items}
            idOf={({ delivery_id }) => delivery_id}
            columns={[
              {
                title: t.events,
                cell: ({ event_type, status }) => <Status tone={tones[status]}>{event_type}</Status>,
              },
              { title: t.time, cell: ({ created_at }) => <Time at={created_at} /> },
              { title: t.attempts, isNumber: true, cell: ({ attempts }) => attempts.length },
              { title: t.reply, isWrapped: true, cell: resultOf },
            ]}
          />
        )
      }
    </Loaded>
  )
}
