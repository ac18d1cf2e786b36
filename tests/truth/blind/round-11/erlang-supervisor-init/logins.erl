%% start PORT USERS within|after: a process for each connection, which asks for its user within its init or after it.
-module(logins).
-behaviour(supervisor).
-export([start/1, init/1, start_login/3, login/4]).

start([Port, Users, When]) ->
    {ok, _} = supervisor:start_link({local, logins}, ?MODULE, [list_to_integer(Users), list_to_atom(When)]),
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), [binary, {ip, {127, 0, 0, 1}}, {active, false},
                                                            {packet, http_bin}, {backlog, 128}, {reuseaddr, true}]),
    [spawn(fun() -> accept(Listener) end) || _ <- lists:seq(1, 40)],
    receive never -> ok end.

init(Arguments) ->
    Child = #{id => login, start => {?MODULE, start_login, Arguments}, restart => temporary},
    {ok, {#{strategy => simple_one_for_one, intensity => 100, period => 1}, [Child]}}.

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    {ok, Login} = supervisor:start_child(logins, [Socket]),
    ok = gen_tcp:controlling_process(Socket, Login),
    Login ! go,
    accept(Listener).

start_login(Users, When, Socket) ->
    proc_lib:start_link(?MODULE, login, [self(), Users, When, Socket]).

login(Supervisor, Users, within, Socket) ->
    User = ask(Users),
    proc_lib:init_ack(Supervisor, {ok, self()}),
    receive go -> answer(Socket, User) end;
login(Supervisor, Users, 'after', Socket) ->
    proc_lib:init_ack(Supervisor, {ok, self()}),
    receive go -> answer(Socket, ask(Users)) end.

ask(Users) ->
    {ok, Service} = gen_tcp:connect({127, 0, 0, 1}, Users, [binary, {active, false}, {nodelay, true}]),
    ok = gen_tcp:send(Service, "GET / HTTP/1.1\r\nHost: users\r\n\r\n"),
    {ok, Answer} = gen_tcp:recv(Service, 0),
    gen_tcp:close(Service),
    Answer.

answer(Socket, _) ->
    skip(Socket),
    gen_tcp:send(Socket, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nok\n"),
    gen_tcp:close(Socket).

skip(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} -> ok;
        {ok, _} -> skip(Socket);
        {error, _} -> ok
    end.
