%% PORT FORGOTTEN: a server whose one router may have messages in its mailbox that it never takes.
-module(router).
-export([main/1]).

main([Port, Forgotten]) ->
    Router = spawn(fun route/0),
    [Router ! {late, Number} || Number <- lists:seq(1, list_to_integer(atom_to_list(Forgotten)))],
    {ok, Listener} = gen_tcp:listen(list_to_integer(atom_to_list(Port)),
        [binary, {ip, {127, 0, 0, 1}}, {packet, http_bin}, {active, false}, {reuseaddr, true}, {nodelay, true}]),
    accept(Listener, Router).

route() ->
    receive
        {where, From, Reference} -> From ! {Reference, "east"}, route()
    end.

accept(Listener, Router) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    gen_tcp:controlling_process(Socket, spawn(fun() -> serve(Socket, Router) end)),
    accept(Listener, Router).

serve(Socket, Router) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} ->
            [ask(Router) || _ <- lists:seq(1, 5)],
            gen_tcp:send(Socket, <<"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\neast\n">>),
            inet:setopts(Socket, [{packet, http_bin}]),
            serve(Socket, Router);
        {ok, _} -> serve(Socket, Router);
        {error, _} -> gen_tcp:close(Socket)
    end.

ask(Router) ->
    Reference = make_ref(),
    Router ! {where, self(), Reference},
    receive {Reference, Where} -> Where end.
