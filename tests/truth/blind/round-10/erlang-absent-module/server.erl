%% Answers requests, and asks optional modules first.
-module(server).
-export([start/1]).

start(Port) ->
    Options = [binary, {packet, http_bin}, {active, false}, {nodelay, true}, {reuseaddr, true}, {ip, {127, 0, 0, 1}}],
    {ok, Listener} = gen_tcp:listen(Port, Options),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Worker = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Worker),
    Worker ! go,
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} ->
            [ask(list_to_atom("hook_" ++ integer_to_list(Number))) || Number <- lists:seq(1, 6)],
            ok = gen_tcp:send(Socket, <<"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n">>),
            serve(Socket);
        {ok, _} ->
            serve(Socket);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

ask(Hook) ->
    case code:ensure_loaded(Hook) of
        {module, Hook} -> Hook:before_request();
        {error, _} -> ok
    end.
