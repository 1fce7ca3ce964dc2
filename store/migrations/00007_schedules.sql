-- +goose Up

-- What the job says of it; 0 = the scheduler's.
ALTER TABLE scheduler_jobs ADD COLUMN misfire_grace_seconds INTEGER NOT NULL DEFAULT 0;
-- When the schedule was made or changed last: what delays and intervals count from.
ALTER TABLE scheduler_jobs ADD COLUMN anchored_at INTEGER NOT NULL DEFAULT 0;
-- The turn's chat and person, for jobs that an agent made.
ALTER TABLE scheduler_jobs ADD COLUMN origin_channel TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_jobs ADD COLUMN origin_chat_id TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_jobs ADD COLUMN origin_sender_id TEXT NOT NULL DEFAULT '';
-- What the configuration said when the job was taken from it: unchanged, it is not taken again.
ALTER TABLE scheduler_jobs ADD COLUMN source_text TEXT NOT NULL DEFAULT '';
-- Grows with every change that Temporal must hear of.
ALTER TABLE scheduler_jobs ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
CREATE INDEX scheduler_jobs_due ON scheduler_jobs (next_run_at) WHERE state = 'active';
CREATE INDEX scheduler_jobs_rev ON scheduler_jobs (rev);

-- The job as it was when the run began.
ALTER TABLE job_runs ADD COLUMN job TEXT NOT NULL DEFAULT '{}';
-- How often the run was begun: one that takes its process down is given up.
ALTER TABLE job_runs ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
-- Why the run was told to stop, for people.
ALTER TABLE job_runs ADD COLUMN stop_reason TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX job_runs_turn ON job_runs (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX job_runs_running ON job_runs (job_id) WHERE status = 'running';
