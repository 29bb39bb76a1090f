import type { NewPromoCode, PromoCode } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { useFormats } from '../format.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { Page } from '../ui/page.tsx'
import { PagedTable } from '../ui/paged-table.tsx'
import { Status } from '../ui/status.tsx'
import type { Column } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { PromoCodeForm } from './promo-form.tsx'
import { usePromoText } from './promo-text.ts'
import { PAGE, promoCodesQuery } from './queries.ts'

const route = getRouteApi('/shell/operator/promo-codes')

/** Promo codes that customers redeem for credit. */
export function PromoCodesPage() {
  const t = usePromoText()
  const { offset = 0 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(promoCodesQuery(offset))
  const [isCreating, setIsCreating] = useState(false)
  const [revoked, setRevoked] = useState<PromoCode | null>(null)
  const columns = useColumns(setRevoked)
  const create = (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      {t.create}
    </Button>
  )
  return (
    <Page title={t.promoCodes} about={t.about} actions={create}>
      <PagedTable
        query={query}
        empty={{ title: t.none }}
        label={t.promoCodes}
        columns={columns}
        idOf={({ promo_code_id }) => promo_code_id}
        page={{ offset, limit: PAGE, onChange: (next) => void navigate({ search: { offset: next } }) }}
      />
      {isCreating ? <Create onClose={() => setIsCreating(false)} /> : null}
      {revoked ? <Revoke promoCode={revoked} onClose={() => setRevoked(null)} /> : null}
    </Page>
  )
}

const refresh = () => queryClient.invalidateQueries({ queryKey: ['operator', 'promo-codes'] })

function useColumns(revoke: (promoCode: PromoCode) => void): Column<PromoCode>[] {
  const t = usePromoText()
  const format = useFormats()
  return [
    { title: t.name, isWrapped: true, cell: ({ name }) => name },
    { title: t.amount, isNumber: true, cell: ({ amount_rub }) => format.money(amount_rub) },
    { title: t.days, isNumber: true, cell: ({ credit_days }) => credit_days },
    { title: t.uses, isNumber: true, cell: ({ uses, max_uses }) => t.usesOf(uses, max_uses) },
    { title: t.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    { title: t.status, cell: (promoCode) => <State {...promoCode} /> },
    {
      title: '',
      cell: (promoCode) =>
        promoCode.revoked_at ? null : (
          <Button aria-label={t.revokeOf(promoCode.name)} onClick={() => revoke(promoCode)}>
            {t.revoke}
          </Button>
        ),
    },
  ]
}

function State({ revoked_at, expires_at, uses, max_uses }: PromoCode) {
  const t = usePromoText()
  if (revoked_at) return <Status tone="off">{t.revoked}</Status>
  if (Date.parse(expires_at) <= Date.now()) return <Status tone="off">{t.expired}</Status>
  if (uses >= max_uses) return <Status tone="off">{t.usedUp}</Status>
  return <Status tone="good">{t.valid}</Status>
}

function Create({ onClose }: { onClose: () => void }) {
  const t = usePromoText()
  const [created, setCreated] = useState<NewPromoCode | null>(null)
  const onCreated = async (promoCode: NewPromoCode) => {
    setCreated(promoCode)
    await refresh()
  }
  return (
    <Dialog title={t.create} onClose={onClose}>
      {created ? (
        <div className="stack">
          <p>{t.createdAbout}</p>
          <p>
            <code>{created.code}</code>
          </p>
          <Button kind="primary" onClick={onClose}>
            {t.done}
          </Button>
        </div>
      ) : (
        <PromoCodeForm onCreated={onCreated} onCancel={onClose} />
      )}
    </Dialog>
  )
}

function Revoke({ promoCode, onClose }: { promoCode: PromoCode; onClose: () => void }) {
  const t = usePromoText()
  const revoke = useMutation({
    mutationFn: () => berth.operator.revokePromoCode(promoCode.promo_code_id),
    onSuccess: async () => {
      await refresh()
      onClose()
    },
  })
  return (
    <Dialog title={t.revokeOf(promoCode.name)} onClose={onClose}>
      <Form submit={t.revoke} mutation={revoke} onSubmit={() => revoke.mutate()} onCancel={onClose}>
        <p>{t.revokeAbout}</p>
      </Form>
    </Dialog>
  )
}
