import { useImagesText } from './images-text.ts'

/** Shows how much of a file has arrived; nothing without an upload. */
export function UploadProgress({ percent }: { percent: number | null }) {
  const t = useImagesText()
  if (percent === null) return null
  return (
    <p>
      <progress className="bar" max={100} value={percent} aria-label={t.uploading} /> {percent}%{' '}
      <span className="muted">{t.keepOpen}</span>
    </p>
  )
}
