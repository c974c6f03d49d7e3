-- A submission is not a decision: the customer keeps the newest decision and is flagged for review.

alter table customers add column kyc_review_pending boolean not null default false;

create index customers_kyc_review on customers (created_at, id) where kyc_review_pending;

update customers c set kyc_review_pending = newest.verification_status = 'pending'
from (
  select distinct on (customer_id) customer_id, verification_status
  from kyc_records order by customer_id, id desc
) newest
where newest.customer_id = c.id;

-- Restores decisions that a later submission of an agent has hidden.
update customers c set kyc_status = decision.verification_status
from (
  select distinct on (k.customer_id) k.customer_id, k.verification_status
  from kyc_records k left join users u on u.id = k.created_by
  where k.verification_status <> 'pending' or u.role is distinct from 'agent'
  order by k.customer_id, k.id desc
) decision
where decision.customer_id = c.id and c.kyc_status is distinct from decision.verification_status;

-- Invitations let people sign up while registration is closed. A token works once.

create type invitation_purpose as enum ('sign_up', 'link_identity');

create table invitations (
  id bigint generated always as identity primary key,
  purpose invitation_purpose not null,
  email text not null,
  email_key text not null,
  role user_role,
  employee_id bigint references employees (id),
  -- link_identity: the user to link to. sign_up: the user who has signed up.
  user_id bigint references users (id),
  token_hash bytea not null constraint invitations_token_unique unique,
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  revoked_at timestamptz(3),
  created_by bigint references users (id),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint invitations_role check ((purpose = 'sign_up') = (role is not null)),
  constraint invitations_user check (
    case purpose
      when 'sign_up' then (user_id is not null) = (accepted_at is not null)
      else user_id is not null
    end
  ),
  constraint invitations_ended_once check (accepted_at is null or revoked_at is null)
);

create unique index invitations_one_open on invitations (email_key, purpose)
  where accepted_at is null and revoked_at is null;
create index invitations_created on invitations (created_at, id);

alter table oauth_states add column invitation_id bigint references invitations (id);

-- All people with an empty subject shared one user.
delete from identities where subject = '';
alter table identities add constraint identities_subject check (subject <> '');

-- The time of rows: real time, plus the offset of the test clock (TEST_CLOCK), which the service sets on its connections. Without a
-- test clock, no offset is set.

create function business_now() returns timestamptz language sql stable parallel safe as $$
  select now() + coalesce(nullif(current_setting('ams.clock_offset', true), '')::interval, '0')
$$;

do $$
declare
  written record;
begin
  for written in
    select table_name, column_name from information_schema.columns
    where table_schema = current_schema() and column_default = 'now()'
      and column_name <> 'progressed_at' -- a heartbeat, which is compared with real time
  loop
    execute format('alter table %I alter column %I set default business_now()', written.table_name, written.column_name);
  end loop;
end $$;
