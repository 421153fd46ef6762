import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { Redirect, Route, Router, Switch, useLocation } from "wouter";
import { InboxPage } from "./inbox/inbox-page.tsx";
import { useNotifications } from "./inbox/use-notifications.ts";
import { line } from "./live/line.ts";
import { currentSettings } from "./look/settings.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Empty, ProblemNote, Skeleton } from "./parts/states.tsx";
import { Login } from "./shell/login.tsx";
import { Shell, useOpenCount } from "./shell/shell.tsx";
import { useTexts } from "./texts/texts.ts";
import { ThreadsPage } from "./threads/threads-page.tsx";
import { basePath } from "./wire/base.ts";
import { Problem } from "./wire/problem.ts";
import { inbox, me, queries } from "./wire/read.ts";

const ThreadPage = lazy(() => import("./thread/thread-page.tsx").then((module) => ({ default: module.ThreadPage })));
const ForkPage = lazy(() => import("./fork/fork-page.tsx").then((module) => ({ default: module.ForkPage })));
const AgentsPage = lazy(() => import("./agents/agents-page.tsx").then((module) => ({ default: module.AgentsPage })));
const PermissionsPage = lazy(() =>
  import("./permissions/permissions-page.tsx").then((module) => ({ default: module.PermissionsPage })),
);

export function App({ loginProblem }: { loginProblem: string | undefined }) {
  return (
    <QueryClientProvider client={queries}>
      <Router base={basePath}>
        <Gate loginProblem={loginProblem} />
      </Router>
    </QueryClientProvider>
  );
}

/** Nothing is read before the server has named the person. */
function Gate({ loginProblem }: { loginProblem: string | undefined }) {
  const { data, error, refetch } = useQuery(me);
  const [at] = useLocation();
  useEffect(() => {
    if (data === undefined) return;
    line.staysAwake = () => currentSettings().notify;
    line.start();
  }, [data]);
  if (error instanceof Problem && error.status === 401) {
    return <Login problem={loginProblem} onIn={() => void refetch()} />;
  }
  if (data === undefined && error !== null) return <ProblemNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <Shell>
      <Notifications />
      <Boundary key={at.split("/").slice(0, 3).join("/")}>
        <Suspense fallback={<Skeleton />}>
          <Switch>
            <Route path="/" component={Start} />
            <Route path="/inbox/:id?">
              {({ id }) => <InboxPage id={id === undefined ? undefined : decodeURIComponent(id)} />}
            </Route>
            <Route path="/threads" component={ThreadsPage} />
            <Route path="/threads/:t/fork">{({ t }) => <ForkPage key={t} threadId={decodeURIComponent(t)} />}</Route>
            <Route path="/threads/:t/:tab?">
              {({ t, tab }) => <ThreadPage key={t} threadId={decodeURIComponent(t)} tab={tab ?? "conversation"} />}
            </Route>
            <Route path="/agents/:a?">
              {({ a }) => <AgentsPage name={a === undefined ? undefined : decodeURIComponent(a)} />}
            </Route>
            <Route path="/permissions" component={PermissionsPage} />
            <Route component={NoSuchPage} />
          </Switch>
        </Suspense>
      </Boundary>
    </Shell>
  );
}

/** Draws nothing. It exists only for a person that has logged in. */
function Notifications() {
  useNotifications();
  return null;
}

/** The inbox if something waits, else the threads. */
function Start() {
  const { isPending } = useQuery(inbox);
  const open = useOpenCount();
  if (isPending) return <Skeleton />;
  return <Redirect to={open > 0 ? "/inbox" : "/threads"} replace />;
}

function NoSuchPage() {
  const t = useTexts();
  return (
    <Empty art="filtered" title={t.all.noPage}>
      <p>{t.all.noPageHow}</p>
    </Empty>
  );
}
